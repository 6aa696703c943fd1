#include "meshwright/data/dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "meshwright/data/dataset_files_for_test.h"
#include "meshwright/data/why_not_for_test.h"
#include "meshwright/state/archive_for_test.h"
#include "meshwright/state/join_tensors.h"

namespace meshwright {
namespace {

using testing::HasSubstr;
using Parameters = std::map<std::string, Shape>;

std::vector<int32_t> Values(const Tensor& tensor) {
  EXPECT_EQ(tensor.type, ElementType::kS32);
  std::vector<int32_t> values(tensor.data.size() / 4);
  std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
  return values;
}

Parameters Batch(int64_t rows, int64_t tokens) {
  const Shape shape = Shape::Array(ElementType::kS32, {rows, tokens});
  return {{"x", shape}, {"y", shape}};
}

DatasetSpec Tokens(std::vector<std::string> files, int64_t sequence) {
  return {.files = std::move(files),
          .parameters = {{"x", "inputs"}, {"y", "targets"}},
          .sequence = sequence};
}

TEST(DatasetTest, TargetsAreOneTokenFurtherOn) {
  const DatasetFilesForTest files;
  files.WriteTokens("a.bin", 100, 10);  // 3 samples of 3, no tail.
  files.WriteTokens("b.bin", 200, 9);   // 2, and two tokens left over.
  const auto dataset =
      Dataset::Open(Tokens({files.Path("*.bin")}, 3), Batch(4, 3));
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  const auto x = (*dataset)->ReadRows("x", 0, {0, 2, 3});
  ASSERT_TRUE(x.ok()) << x.status();
  EXPECT_EQ(Values(*x), (std::vector<int32_t>{100, 101, 102, 106, 107, 108, 200,
                                              201, 202}));
  EXPECT_EQ(Values((*dataset)->ReadRows("y", 0, {2}).value()),
            (std::vector<int32_t>{107, 108, 109}));
  EXPECT_EQ(Values((*dataset)->ReadRows("x", 4, {0, 1}).value()),
            (std::vector<int32_t>{203, 204, 205, 100, 101, 102}));
}

TEST(DatasetTest, PaddingIsPutWhereThereIsNoRow) {
  const DatasetFilesForTest files;
  const auto dataset = Dataset::Open(
      Tokens({files.WriteTokens("a.bin", 1, 20)}, 1), Batch(4, 1));
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(Values((*dataset)->ReadRows("x", 0, {-1, 1, -1}, '\xff').value()),
            (std::vector<int32_t>{-1, 2, -1}));
}

// However a batch is split over readers, it is the same batch.
TEST(DatasetTest, RowsDoNotDependOnWhoReadsThem) {
  const DatasetFilesForTest files;
  std::vector<std::string> paths;
  for (int i = 0; i < 4; ++i) {
    paths.push_back(
        files.WriteTokens("t" + std::to_string(i), 1000 * i, 70 + 8 * i));
  }
  for (const auto by :
       {DatasetSpec::ShardBy::kSample, DatasetSpec::ShardBy::kFile}) {
    DatasetSpec spec = Tokens(paths, 4);
    spec.shuffle = 3;
    spec.shard_by = by;
    for (int64_t position = 0; position < 80; position += 8) {
      std::vector<std::vector<int32_t>> batches;
      for (const int64_t readers : {1, 2, 4, 8}) {
        std::vector<Tensor> parts;
        for (int64_t reader = 0; reader < readers; ++reader) {
          auto own = Dataset::Open(spec, Batch(8, 4)).value();
          std::vector<int64_t> rows(8 / readers);
          std::iota(rows.begin(), rows.end(), reader * 8 / readers);
          parts.push_back(own->ReadRows("x", position, rows).value());
        }
        batches.push_back(Values(JoinTensors(parts, 0)));
      }
      for (const auto& batch : batches) EXPECT_EQ(batch, batches[0]);
    }
  }
}

TEST(DatasetTest, ByFileOnlyOwnFilesAreOpened) {
  const DatasetFilesForTest files;
  DatasetSpec spec =
      Tokens({files.WriteTokens("own", 0, 30), files.Path("elsewhere")}, 2);
  spec.shard_by = DatasetSpec::ShardBy::kFile;
  const auto dataset = Dataset::Open(spec, Batch(4, 2));
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_TRUE((*dataset)->CheckRows(0, {0, 1}).ok());
  EXPECT_TRUE((*dataset)->ReadRows("x", 0, {0, 1}).ok());
  EXPECT_THAT(
      WhyNot((*dataset)->CheckRows(0, {2}), absl::StatusCode::kNotFound),
      HasSubstr("elsewhere: No such file"));
}

TEST(DatasetTest, MoreFilesThanAreOpenAtATime) {
  const DatasetFilesForTest files;
  for (int i = 0; i < 600; ++i) {
    files.WriteTokens(absl::StrCat("f", 1000 + i), i, 2);
  }
  const auto dataset =
      Dataset::Open(Tokens({files.Path("f*")}, 1), Batch(7, 1));
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  for (int64_t position = 0; position < 1200; position += 97) {
    EXPECT_EQ(Values((*dataset)->ReadRows("x", position, {0}).value())[0],
              position % 600);
  }
  // One that was closed, and is another when it is opened again.
  files.WriteTokens("f1001", 0, 9);
  EXPECT_THAT(WhyNot((*dataset)->ReadRows("x", 1, {0}).status(),
                     absl::StatusCode::kDataLoss),
              HasSubstr("f1001: has changed since it was first read"));
}

TEST(DatasetTest, TokensInNpyFiles) {
  const DatasetFilesForTest files;
  const std::string path = files.Write(
      "a.npy",
      Npy("{'descr': '|u1', 'fortran_order': False, 'shape': (5,), }\n",
          "\x01\x02\x03\x04\x05"));
  DatasetSpec spec = Tokens({path}, 2);
  spec.token_type = ElementType::kU8;
  const auto dataset = Dataset::Open(spec, Batch(2, 2));
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(Values((*dataset)->ReadRows("y", 0, {0, 1}).value()),
            (std::vector<int32_t>{2, 3, 4, 5}));
  spec.token_type = ElementType::kU16;
  EXPECT_THAT(WhyNot(Dataset::Open(spec, Batch(2, 2)).status()),
              HasSubstr("a.npy: is u8[5], not a flat array of u16"));
}

TEST(DatasetTest, RowsOfArrays) {
  const DatasetFilesForTest files;
  const std::string header =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }\n";
  std::vector<float> values(6);
  std::iota(values.begin(), values.end(), 1.0f);
  const std::string bytes(reinterpret_cast<const char*>(values.data()), 24);
  const std::string path = files.Write(
      "a.npz", Zip({{"other.npy", SmallNpy()}, {"v.npy", Npy(header, bytes)}},
                   {.zip64 = true}));
  const DatasetSpec spec{.kind = DatasetSpec::Kind::kArrays,
                         .files = {path},
                         .parameters = {{"p", "v"}}};
  const Shape shape = Shape::Array(ElementType::kF32, {3, 2});
  const auto dataset = Dataset::Open(spec, {{"p", shape}});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  const auto rows = (*dataset)->ReadRows("p", 0, {2, 0});
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_EQ(rows->dimensions, (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(rows->data, bytes.substr(16) + bytes.substr(0, 8));
}

TEST(DatasetTest, ValuesThatDoNotFitAreNamed) {
  const DatasetFilesForTest files;
  DatasetSpec spec = Tokens({files.WriteTokens("a.bin", 120, 20)}, 1);
  const Shape narrow = Shape::Array(ElementType::kS8, {16, 1});
  const auto dataset = Dataset::Open(spec, {{"x", narrow}, {"y", narrow}});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_TRUE((*dataset)->ReadRows("x", 0, {0, 7}).ok());
  EXPECT_THAT(WhyNot((*dataset)->ReadRows("x", 0, {0, 7, 8}).status(),
                     absl::StatusCode::kOutOfRange),
              HasSubstr("a.bin: sample 8 has values that parameter x, "
                        "s8[16,1], does not hold"));
  spec.vocabulary = 130;
  const auto bounded = Dataset::Open(spec, Batch(16, 1));
  EXPECT_TRUE((*bounded)->ReadRows("x", 0, {9}).ok());
  EXPECT_THAT(WhyNot((*bounded)->ReadRows("x", 0, {9, 10}).status(),
                     absl::StatusCode::kOutOfRange),
              HasSubstr("a.bin: sample 10 has token 130, \"vocabulary\" is"));
}

TEST(DatasetTest, FilesThatChangeMeanwhileAreNamed) {
  const DatasetFilesForTest files;
  const std::string path = files.WriteTokens("a.bin", 0, 100);
  const auto dataset = Dataset::Open(Tokens({path}, 4), Batch(20, 4));
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  std::filesystem::resize_file(path, 40);
  EXPECT_TRUE((*dataset)->ReadRows("x", 0, {0}).ok());
  EXPECT_THAT(WhyNot((*dataset)->ReadRows("x", 0, {19}).status(),
                     absl::StatusCode::kDataLoss),
              HasSubstr("a.bin: was cut short: it had 200 bytes"));
}

TEST(DatasetTest, MistakesAreNamed) {
  const DatasetFilesForTest files;
  const std::string odd = files.Write("odd.bin", "abc");
  const std::string tiny = files.WriteTokens("tiny.bin", 0, 4);
  const auto why = [](const DatasetSpec& spec, const Parameters& batch) {
    return WhyNot(Dataset::Open(spec, batch).status());
  };
  EXPECT_THAT(why(Tokens({odd}, 4), Batch(2, 4)),
              HasSubstr("odd.bin: its 3 bytes are no multiple of the 2"));
  EXPECT_THAT(why(Tokens({tiny}, 4), Batch(2, 4)),
              HasSubstr("tiny.bin: is shorter than one sample"));
  EXPECT_THAT(why(Tokens({files.Path("none*")}, 4), Batch(2, 4)),
              HasSubstr("no file matches"));
  EXPECT_THAT(why(Tokens({tiny}, 2), Batch(2, 3)),
              HasSubstr("parameter x is s32[2,3]; \"inputs\" are integers"));
  EXPECT_THAT(why(Tokens({tiny}, 2), {{"x", Batch(2, 2)["x"]}}),
              HasSubstr("no parameter \"y\""));
  Parameters uneven = Batch(2, 2);
  uneven["y"].dimensions[0] = 3;
  EXPECT_THAT(why(Tokens({tiny}, 2), uneven),
              HasSubstr("parameter y has 3 rows, x 2"));
  EXPECT_THAT(why({.kind = DatasetSpec::Kind::kArrays,
                   .files = {files.Write("a.npz", "PK\x03\x04 damaged")},
                   .parameters = {{"x", "v"}}},
                  Batch(2, 2)),
              HasSubstr("a.npz: the zip archive is cut short"));
}

}  // namespace
}  // namespace meshwright
