// Test support: files of datasets in a folder of their own.
#ifndef MESHWRIGHT_DATA_DATASET_FILES_FOR_TEST_H_
#define MESHWRIGHT_DATA_DATASET_FILES_FOR_TEST_H_

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace meshwright {

class DatasetFilesForTest {
 public:
  DatasetFilesForTest() {
    std::string name = testing::TempDir() + "dataset-XXXXXX";
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  ~DatasetFilesForTest() { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const {
    return folder_ + "/" + name;
  }
  std::string Write(const std::string& name, const std::string& bytes) const {
    std::ofstream(Path(name), std::ios::binary) << bytes;
    return Path(name);
  }
  // u16 tokens first, first + 1, ...
  std::string WriteTokens(const std::string& name, int first,
                          int64_t count) const {
    std::string bytes;
    for (int64_t i = 0; i < count; ++i) {
      const auto token = static_cast<uint16_t>(first + i);
      bytes.push_back(static_cast<char>(token & 0xff));
      bytes.push_back(static_cast<char>(token >> 8));
    }
    return Write(name, bytes);
  }

 private:
  std::string folder_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_DATA_DATASET_FILES_FOR_TEST_H_
