#include "meshwright/state/tensor_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <random>
#include <string>

#include "meshwright/state/archive_for_test.h"
#include "meshwright/state/tensor_file.h"

namespace meshwright {
namespace {

using testing::HasSubstr;

class TensorIndexTest : public testing::Test {
 protected:
  ~TensorIndexTest() override { std::remove(path_.c_str()); }

  absl::StatusOr<std::vector<PlacedTensor>> Index(const std::string& bytes) {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
    auto file = RandomAccessFile::Open(path_);
    if (!file.ok()) return file.status();
    return IndexTensors(**file);
  }

  std::string WhyNot(const std::string& bytes) {
    const absl::Status status = Index(bytes).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_EQ(status.message().find(path_), 0u) << status;
    return std::string(status.message());
  }

  // The tensors are where the whole file has them.
  void ExpectAsParsed(const std::string& bytes) {
    const auto placed = Index(bytes);
    ASSERT_TRUE(placed.ok()) << placed.status();
    const auto parsed = ParseTensors(bytes);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    ASSERT_EQ(placed->size(), parsed->size());
    for (size_t i = 0; i < parsed->size(); ++i) {
      Tensor found = (*placed)[i].tensor;
      found.data = bytes.substr((*placed)[i].offset, (*parsed)[i].data.size());
      EXPECT_EQ(found, (*parsed)[i]);
    }
  }

  const std::string path_ = testing::TempDir() + "tensor_index_test.file";
};

std::string Shorts() {
  return Npy("{'descr': '<u2', 'fortran_order': False, 'shape': (2, 3), }\n",
             "abcdefghijkl");
}
std::string Archive(const ZipOptions& options = {}) {
  return Zip({{"x.npy", SmallNpy()}, {"y.npy", Shorts()}}, options);
}
std::string TwoTensors() {
  return Safetensors(
      R"({"b": {"dtype": "U8", "shape": [2], "data_offsets": [4, 6]},)"
      R"( "a": {"dtype": "F32", "shape": [], "data_offsets": [0, 4]}})",
      "abcdef");
}

TEST_F(TensorIndexTest, FindsWhatIsReadWhole) {
  ExpectAsParsed(SmallNpy());
  ExpectAsParsed(Shorts());
  ExpectAsParsed(Archive());
  ExpectAsParsed(Archive({.zip64 = true}));
  ExpectAsParsed(Archive({.comment = "a comment"}));
  ExpectAsParsed(TwoTensors());
}

TEST_F(TensorIndexTest, WhatCannotBeReadInPartsIsNamed) {
  EXPECT_THAT(WhyNot(Archive({.deflate = true})),
              HasSubstr("x.npy: is compressed, so that no sample"));
  EXPECT_THAT(
      WhyNot(Npy("{'descr': '>u2', 'fortran_order': False, 'shape': (1,), }\n",
                 "ab")),
      HasSubstr("is big-endian"));
  EXPECT_THAT(
      WhyNot(Npy("{'descr': '|u1', 'fortran_order': True, 'shape': (1, 2), }\n",
                 "ab")),
      HasSubstr("is column-major"));
  EXPECT_THAT(WhyNot(Zip({{"x.txt", "hello"}}, {})), HasSubstr("x.txt: "));
  EXPECT_THAT(WhyNot(""), HasSubstr("cut short"));
}

TEST_F(TensorIndexTest, DamagedFilesAreRefusedOrLieInside) {
  std::mt19937 random(7);
  for (const std::string& good : {SmallNpy(), Shorts(), Archive(),
                                  Archive({.zip64 = true}), TwoTensors()}) {
    for (int i = 0; i < 120; ++i) {
      std::string bytes = good;
      if (i % 4 == 0) {
        bytes.resize(random() % bytes.size());
      } else {
        for (int change = 0; change < 1 + i % 3; ++change) {
          bytes[random() % bytes.size()] = static_cast<char>(random());
        }
      }
      const auto placed = Index(bytes);
      if (!placed.ok()) continue;
      for (const PlacedTensor& one : *placed) {
        const int64_t width = one.tensor.type == ElementType::kInvalid
                                  ? one.tensor.raw_bytes
                                  : HostBytes(one.tensor.type);
        const auto size = CheckedBytes(one.tensor.dimensions, width);
        ASSERT_TRUE(size.has_value());
        EXPECT_GE(one.offset, 0);
        EXPECT_LE(one.offset + *size, std::ssize(bytes));
      }
    }
  }
}

}  // namespace
}  // namespace meshwright
