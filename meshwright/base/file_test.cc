#include "meshwright/base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/base/output_target.h"

namespace meshwright {
namespace {

using ::testing::ElementsAre;
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

std::vector<std::string> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.push_back(entry.path().filename());
  }
  std::ranges::sort(names);
  return names;
}

TEST_F(FileTest, WritesWhatALinkNames) {
  std::filesystem::create_directory(folder_ + "/sub");
  ASSERT_TRUE(WriteFileAtomically(folder_ + "/sub/x", "old").ok());
  const std::string link = folder_ + "/link";
  const std::string second = folder_ + "/second";
  std::filesystem::create_symlink("sub/x", link);
  std::filesystem::create_symlink(link, second);
  ASSERT_TRUE(WriteFileAtomically(second, "new").ok());
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_TRUE(std::filesystem::is_symlink(second));
  EXPECT_EQ(ReadFile(folder_ + "/sub/x").value(), "new");
  // Also where there is nothing yet.
  std::filesystem::create_symlink("sub/y", folder_ + "/fresh");
  ASSERT_TRUE(WriteFileAtomically(folder_ + "/fresh", "1").ok());
  EXPECT_TRUE(std::filesystem::is_symlink(folder_ + "/fresh"));
  EXPECT_THAT(NamesIn(folder_ + "/sub"), ElementsAre("x", "y"));
  std::filesystem::create_symlink("loop", folder_ + "/loop");
  EXPECT_FALSE(WriteFileAtomically(folder_ + "/loop", "1").ok());
}

TEST_F(FileTest, KeepsPermissions) {
  const std::string path = folder_ + "/x";
  ASSERT_TRUE(WriteFileAtomically(path, "old").ok());
  for (const mode_t mode : {0600, 0664, 0755}) {
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    ASSERT_TRUE(WriteFileAtomically(path, "new").ok());
    struct stat info;
    ASSERT_EQ(::stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777, mode);
  }
}

TEST_F(FileTest, WritesIntoPipesAndDevices) {
  const std::string pipe = folder_ + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::string got;
  std::thread reader([&] { got = ReadFile(pipe).value(); });
  EXPECT_TRUE(WriteFileAtomically(pipe, {"to ", "a pipe"}).ok());
  reader.join();
  EXPECT_EQ(got, "to a pipe");
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));

  // Through links, as a device must never be replaced.
  std::filesystem::create_symlink("/dev/null", folder_ + "/null");
  EXPECT_TRUE(WriteFileAtomically(folder_ + "/null", "1").ok());
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  std::filesystem::create_symlink("/dev/full", folder_ + "/full");
  const absl::Status full = WriteFileAtomically(folder_ + "/full", "1");
  EXPECT_EQ(full.message(), folder_ + "/full: No space left on device");
  EXPECT_THAT(NamesIn(folder_), ElementsAre("full", "null", "pipe"));
}

TEST_F(FileTest, WritesToOpenDescriptorsAsTheyAre) {
  const std::string path = folder_ + "/x";
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT, 0600);
  ASSERT_EQ(::write(fd, "before ", 7), 7);
  const std::string name = "/dev/fd/" + std::to_string(fd);
  EXPECT_TRUE(CheckWritable(name).ok());
  EXPECT_TRUE(WriteFileAtomically(name, "after").ok());
  EXPECT_EQ(ReadFile(path).value(), "before after");
  ::close(fd);
  EXPECT_FALSE(CheckWritable(name).ok());
  const int reads = ::open(path.c_str(), O_RDONLY);
  const std::string read_only = "/proc/self/fd/" + std::to_string(reads);
  EXPECT_EQ(CheckWritable(read_only).message(),
            read_only + ": is not open for writing");
  ::close(reads);
}

TEST_F(FileTest, LongNamesHaveRoomForTheTemporary) {
  const std::string path = folder_ + "/" + std::string(255, 'x');
  EXPECT_TRUE(WriteFileAtomically(path, "1").ok());
  EXPECT_EQ(ReadFile(path).value(), "1");
}

TEST_F(FileTest, ChecksBeforeTheWork) {
  EXPECT_TRUE(CheckWritable(folder_ + "/new").ok());
  EXPECT_EQ(CheckWritable(folder_ + "/no/x").message(),
            folder_ + "/no/x: there is no folder " + folder_ + "/no");
  EXPECT_EQ(CheckWritable(folder_).message(), folder_ + ": is a folder");
  EXPECT_EQ(CheckWritable("").message(), "\"\": is no name of a file");
  EXPECT_FALSE(CheckWritable(folder_ + "/new/").ok());
  ASSERT_TRUE(WriteFileAtomically(folder_ + "/x", "1").ok());
  EXPECT_TRUE(CheckWritable(folder_ + "/x").ok());
  EXPECT_FALSE(CheckWritable(folder_ + "/x/y").ok());
  std::filesystem::create_symlink("no/x", folder_ + "/astray");
  EXPECT_FALSE(CheckWritable(folder_ + "/astray").ok());
  EXPECT_TRUE(CheckWritable("/dev/null").ok());
  EXPECT_TRUE(CheckWritable("/dev/full").ok());
  EXPECT_THAT(NamesIn(folder_), ElementsAre("astray", "x"));
  if (::geteuid() == 0) return;  // May do everything.
  ASSERT_EQ(::chmod((folder_ + "/x").c_str(), 0400), 0);
  EXPECT_EQ(CheckWritable(folder_ + "/x").code(),
            absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(CheckWritable("/x").code(), absl::StatusCode::kPermissionDenied);
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
