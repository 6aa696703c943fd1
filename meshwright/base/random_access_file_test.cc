#include "meshwright/base/random_access_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

namespace meshwright {
namespace {

using testing::HasSubstr;

class RandomAccessFileTest : public testing::Test {
 protected:
  ~RandomAccessFileTest() override { std::remove(path_.c_str()); }

  const std::string path_ = testing::TempDir() + "random_access_file_test.file";
};

TEST_F(RandomAccessFileTest, ReadsAnyPart) {
  std::ofstream(path_) << "0123456789";
  const auto file = RandomAccessFile::Open(path_);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ((*file)->bytes(), 10);
  std::string part(3, '\0');
  EXPECT_TRUE((*file)->Read(7, part.data(), 3).ok());
  EXPECT_EQ(part, "789");
  EXPECT_TRUE((*file)->Read(10, part.data(), 0).ok());
}

TEST_F(RandomAccessFileTest, WhatIsNotThereIsAnError) {
  std::ofstream(path_) << "0123456789";
  const auto file = RandomAccessFile::Open(path_).value();
  std::string part(5, '\0');
  EXPECT_EQ(file->Read(7, part.data(), 5).code(), absl::StatusCode::kDataLoss);
  std::filesystem::resize_file(path_, 2);
  const absl::Status cut = file->Read(1, part.data(), 5);
  EXPECT_EQ(cut.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(cut.message()),
              HasSubstr("was cut short: it had 10 bytes, and now ends at 2"));
}

TEST_F(RandomAccessFileTest, OnlyFilesAreOpened) {
  EXPECT_EQ(RandomAccessFile::Open(path_).status().code(),
            absl::StatusCode::kNotFound);
  const auto folder = RandomAccessFile::Open(testing::TempDir()).status();
  EXPECT_EQ(folder.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(folder.message()), HasSubstr(": is a folder"));
  // Without a writer: not waited for.
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(RandomAccessFile::Open(path_).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace meshwright
