#include "meshwright/base/file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace meshwright {
namespace {

using ::testing::StartsWith;

class FileTest : public ::testing::Test {
 protected:
  FileTest() {
    folder_ = ::testing::TempDir() + "file_test." + std::to_string(::getpid());
    std::filesystem::create_directory(folder_);
  }
  ~FileTest() override { std::filesystem::remove_all(folder_); }

  std::string folder_;
};

TEST_F(FileTest, WritesAndReadsBack) {
  const std::string path = folder_ + "/x";
  ASSERT_TRUE(WriteFileAtomically(path, "old").ok());
  ASSERT_TRUE(
      WriteFileAtomically(path, {"a", "", std::string(100000, 'b')}).ok());
  EXPECT_EQ(ReadFile(path).value(), "a" + std::string(100000, 'b'));
  ASSERT_TRUE(WriteFileAtomically(path, "").ok());
  EXPECT_EQ(ReadFile(path).value(), "");
  // Nothing temporary stays.
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(FileTest, ReadsPipes) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::write(ends[1], "hello", 5), 5);
  ::close(ends[1]);
  const std::string path = "/dev/fd/" + std::to_string(ends[0]);
  EXPECT_EQ(ReadFile(path).value(), "hello");
  ::close(ends[0]);
}

TEST_F(FileTest, SaysWhatIsWrong) {
  const std::string path = folder_ + "/x";
  EXPECT_EQ(ReadFile(path).status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(ReadFile(path).status().message()),
              StartsWith(path + ": "));
  EXPECT_EQ(ReadFile(folder_).status().message(), folder_ + ": is a folder");
  EXPECT_EQ(ReadFile("/dev/zero").status().message(),
            "/dev/zero: is not a file");
  ASSERT_TRUE(WriteFileAtomically(path, "12345").ok());
  EXPECT_TRUE(ReadFile(path, 5).ok());
  EXPECT_EQ(ReadFile(path, 4).status().message(), path + ": more than 4 bytes");
}

TEST_F(FileTest, RefusesWhatMemoryCannotHold) {
  const std::string path = folder_ + "/sparse";
  ASSERT_TRUE(WriteFileAtomically(path, "").ok());
  if (::truncate(path.c_str(), int64_t{1} << 41) != 0) GTEST_SKIP();
  EXPECT_EQ(ReadFile(path).status().code(),
            absl::StatusCode::kResourceExhausted);
}

TEST_F(FileTest, FailedWritesLeaveNothing) {
  EXPECT_EQ(WriteFileAtomically(folder_ + "/no/x", "1").code(),
            absl::StatusCode::kNotFound);
  // Renaming over a folder fails after the temporary file was written.
  std::filesystem::create_directory(folder_ + "/sub");
  EXPECT_FALSE(WriteFileAtomically(folder_ + "/sub", "1").ok());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

}  // namespace
}  // namespace meshwright
