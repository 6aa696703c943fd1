#include "meshwright/state/tensor_file.h"

#include <cstring>
#include <map>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/base/file.h"
#include "meshwright/hlo/literal.h"
#include "meshwright/state/archive_for_test.h"
#include "meshwright/state/values_for_test.h"

namespace meshwright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

std::map<std::string, Tensor> ReadTestFile(const std::string& name) {
  const absl::StatusOr<std::vector<Tensor>> tensors = ReadTensorFile(
      std::string(MW_SOURCE_DIR "/meshwright/state/testdata/") + name);
  EXPECT_TRUE(tensors.ok()) << tensors.status();
  std::map<std::string, Tensor> by_name;
  for (const Tensor& tensor : *tensors) by_name[tensor.name] = tensor;
  return by_name;
}

void ExpectNumbers(const std::map<std::string, Tensor>& tensors,
                   const std::string& name, ElementType type) {
  ASSERT_TRUE(tensors.contains(name)) << name;
  const Tensor& tensor = tensors.at(name);
  EXPECT_EQ(tensor.type, type) << name;
  EXPECT_THAT(tensor.dimensions, ElementsAre(2, 3)) << name;
  EXPECT_THAT(ValuesOf(tensor), ElementsAre(0, 1, 2, 3, 4, 5)) << name;
}

void ExpectAllTypes(const std::map<std::string, Tensor>& tensors) {
  ExpectNumbers(tensors, "i8", ElementType::kS8);
  ExpectNumbers(tensors, "i16", ElementType::kS16);
  ExpectNumbers(tensors, "i32", ElementType::kS32);
  ExpectNumbers(tensors, "i64", ElementType::kS64);
  ExpectNumbers(tensors, "u8", ElementType::kU8);
  ExpectNumbers(tensors, "u16", ElementType::kU16);
  ExpectNumbers(tensors, "u32", ElementType::kU32);
  ExpectNumbers(tensors, "u64", ElementType::kU64);
  ExpectNumbers(tensors, "f16", ElementType::kF16);
  ExpectNumbers(tensors, "f32", ElementType::kF32);
  ExpectNumbers(tensors, "f64", ElementType::kF64);
  ExpectNumbers(tensors, "c64", ElementType::kC64);
  ExpectNumbers(tensors, "bf16", ElementType::kBF16);
  ExpectNumbers(tensors, "f8e5m2", ElementType::kF8E5M2);
  EXPECT_EQ(tensors.at("pred").type, ElementType::kPred);
  EXPECT_EQ(tensors.at("pred").data, std::string("\0\1\0\1\0\1", 6));
  EXPECT_THAT(tensors.at("scalar").dimensions, IsEmpty());
  EXPECT_THAT(ValuesOf(tensors.at("scalar")), ElementsAre(5));
  EXPECT_THAT(tensors.at("empty").dimensions, ElementsAre(0, 3));
}

TEST(TensorFileTest, FilesThatNumpyWrites) {
  for (const char* name : {"stored.npz", "deflated.npz"}) {
    std::map<std::string, Tensor> tensors = ReadTestFile(name);
    EXPECT_EQ(tensors.size(), 21);
    ExpectAllTypes(tensors);
    ExpectNumbers(tensors, "c128", ElementType::kC128);
    ExpectNumbers(tensors, "nested/fortran", ElementType::kF32);
    ExpectNumbers(tensors, "big_endian", ElementType::kS32);
    // NumPy forgets which 1-byte type it was; the module knows.
    Tensor& raw = tensors.at("f8e4m3fn");
    EXPECT_EQ(raw.type, ElementType::kInvalid);
    EXPECT_EQ(raw.raw_bytes, 1);
    ASSERT_TRUE(
        Conform(Shape::Array(ElementType::kF8E4M3FN, {2, 3}), raw).ok());
    ExpectNumbers(tensors, "f8e4m3fn", ElementType::kF8E4M3FN);
  }
  ExpectNumbers(ReadTestFile("single.npy"), "", ElementType::kF32);
}

TEST(TensorFileTest, FilesThatSafetensorsWrites) {
  const std::map<std::string, Tensor> tensors = ReadTestFile("all.safetensors");
  EXPECT_EQ(tensors.size(), 18);
  ExpectAllTypes(tensors);
  ExpectNumbers(tensors, "f8e4m3fn", ElementType::kF8E4M3FN);
}

TEST(TensorFileTest, SafetensorsRoundTrip) {
  std::vector<Tensor> tensors;
  for (const auto& [name, tensor] : ReadTestFile("all.safetensors")) {
    tensors.push_back(tensor);
  }
  tensors.back().name = "w\xc3\xa9ird \"name\"";
  const std::string path = ::testing::TempDir() + "round_trip.safetensors";
  ASSERT_TRUE(WriteSafetensors(path, tensors).ok());
  const absl::StatusOr<std::vector<Tensor>> again = ReadTensorFile(path);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_THAT(*again, ::testing::UnorderedElementsAreArray(tensors));

  const absl::StatusOr<std::string> bytes = ReadFile(path);
  std::reverse(tensors.begin(), tensors.end());
  ASSERT_TRUE(WriteSafetensors(path, tensors).ok());
  EXPECT_EQ(*ReadFile(path), *bytes) << "the order given must not matter";
}

TEST(TensorFileTest, WhatSafetensorsCannotHold) {
  const std::string path = ::testing::TempDir() + "never.safetensors";
  Tensor tensor;
  tensor.name = "w";
  tensor.type = ElementType::kS4;
  tensor.dimensions = {2};
  tensor.data = "ab";
  EXPECT_THAT(std::string(WriteSafetensors(path, {tensor}).message()),
              HasSubstr("w: safetensors has no type s4"));
  tensor.type = ElementType::kS8;
  EXPECT_THAT(std::string(WriteSafetensors(path, {tensor, tensor}).message()),
              HasSubstr("w: the name is taken"));
  tensor.data = "a";
  EXPECT_THAT(std::string(WriteSafetensors(path, {tensor}).message()),
              HasSubstr("w: its data do not fit"));
  tensor.data = "ab";
  tensor.name = "\xff";
  EXPECT_THAT(std::string(WriteSafetensors(path, {tensor}).message()),
              HasSubstr("not UTF-8"));
}

TEST(TensorFileTest, MissingFilesAndFolders) {
  EXPECT_EQ(ReadTensorFile("no/such.npz").status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(ReadTensorFile("/").status().code(),
            absl::StatusCode::kInvalidArgument);
}

struct BadFile {
  const char* what;
  std::string bytes;
  const char* message;
};

void ExpectErrors(const std::vector<BadFile>& files) {
  for (const BadFile& file : files) {
    const absl::Status status = ParseTensors(file.bytes).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << file.what;
    EXPECT_THAT(std::string(status.message()), HasSubstr(file.message))
        << file.what;
  }
}

TEST(TensorFileTest, BadNpy) {
  const std::string good = "{'descr': '<f4', 'fortran_order': False, ";
  ExpectErrors({
      {"short magic", "\x93NUMPY", "cut short"},
      {"version 9", Npy("{}", "", 9), "npy version 9"},
      {"header past the end", Npy("", "").replace(8, 2, "zz"), "cut short"},
      {"no dictionary", Npy("hello", ""), "header is damaged"},
      {"missing key", Npy("{'descr': '<f4'}", ""), "lacks a key"},
      {"unknown key", Npy("{'x': '<f4'}", ""), "unknown key"},
      {"open string", Npy("{'descr", ""), "header is damaged"},
      {"structured", Npy("{'descr': [('a', '<f4')]}", ""), "structured"},
      {"objects",
       Npy("{'descr': '|O8', 'fortran_order': False, 'shape': ()}", ""),
       "Python objects"},
      {"unknown dtype",
       Npy("{'descr': '<U5', 'fortran_order': False, 'shape': ()}", ""),
       "'<U5' is not supported"},
      {"negative shape", Npy(good + "'shape': (-1,)}", ""), "shape is damaged"},
      {"too few data", Npy(good + "'shape': (2,)}", "1234"), "needs 8 bytes"},
      {"too many data", Npy(good + "'shape': ()}", "12345"), "needs 4 bytes"},
      {"overflow",
       Npy(good + "'shape': (4611686018427387904, 4611686018427387904)}", ""),
       "overflows"},
      {"huge number", Npy(good + "'shape': (99999999999999999999,)}", ""),
       "shape is damaged"},
  });
}

TEST(TensorFileTest, NpyVariants) {
  for (int version : {1, 2, 3}) {
    const absl::StatusOr<std::vector<Tensor>> tensors = ParseTensors(
        Npy("{\"shape\": (2L,), 'fortran_order': True, 'descr': '|u1', }\n",
            "ab", version));
    ASSERT_TRUE(tensors.ok()) << tensors.status();
    EXPECT_EQ(tensors->at(0).type, ElementType::kU8);
    EXPECT_EQ(tensors->at(0).data, "ab");
  }
}

TEST(TensorFileTest, Zip64AndComments) {
  for (const ZipOptions& options :
       {ZipOptions{}, ZipOptions{.zip64 = true}, ZipOptions{.deflate = true},
        ZipOptions{.comment = "PK\x05\x06 not the end"}}) {
    const absl::StatusOr<std::vector<Tensor>> tensors = ParseTensors(
        Zip({{"a/w.npy", SmallNpy()}, {"b.npy", SmallNpy()}}, options));
    ASSERT_TRUE(tensors.ok()) << tensors.status();
    ASSERT_EQ(tensors->size(), 2);
    EXPECT_EQ(tensors->at(0).name, "a/w");
    EXPECT_EQ(tensors->at(1).data, "ab");
  }
}

TEST(TensorFileTest, BadZip) {
  const std::string npy = SmallNpy();
  const std::string zip = Zip({{"w.npy", npy}}, {});
  std::string flipped = zip;
  flipped[zip.find("ab", 40)] = 'z';
  ExpectErrors({
      {"cut", zip.substr(0, zip.size() - 1), "cut short"},
      {"only the start", "PK\x03\x04", "cut short"},
      {"bad checksum", flipped, "w.npy: its checksum"},
      {"twice", Zip({{"w.npy", npy}, {"w.npy", npy}}, {}), "w: is there twice"},
      {"other file", Zip({{"readme.txt", npy}}, {}), "readme.txt: is not"},
      {"encrypted", Zip({{"w.npy", npy}}, {.flags = 1}), "encrypted"},
      {"odd method", Zip({{"w.npy", npy}}, {.method = 12}), "method 12"},
      {"lying size", Zip({{"w.npy", npy}}, {.declared = 1u << 30}),
       "cannot hold"},
      {"bomb", Zip({{"w.npy", npy}}, {.deflate = true, .declared = 0xfffffffe}),
       "cannot hold"},
      {"longer than its data",
       Zip({{"w.npy", npy}},
           {.deflate = true,
            .declared = static_cast<uint32_t>(npy.size() + 1)}),
       "needs 2 bytes, there are 3"},
      {"overlap", Zip({{"a.npy", npy}, {"b.npy", npy}}, {.overlap = true}),
       "overlap"},
      {"directory outside", Zip({{"w.npy", npy}}, {.directory = 1 << 20}),
       "outside"},
      {"damaged deflate",
       Zip({{"w.npy", npy}}, {.deflate = true, .garbage = true}), "damaged"},
  });
}

TEST(TensorFileTest, BadSafetensors) {
  const auto entry = [](const std::string& fields) {
    return Safetensors("{\"w\": {" + fields + "}}", "12345678");
  };
  ExpectErrors({
      {"empty", "", "cut short"},
      {"text", "This is no tensor file.", "neither"},
      {"lying header", std::string("\xff\0\0\0\0\0\0\0{}", 10), "neither"},
      {"huge header", std::string(8, '\xff') + "{}", "neither"},
      {"not JSON", Safetensors("{\"w\"", ""), "not a JSON object"},
      {"deep JSON", Safetensors(std::string(100000, '['), ""), "JSON"},
      {"list", Safetensors("[]", ""), "not a JSON object"},
      {"no object", Safetensors("{\"w\": 1}", ""), "w: is not described"},
      {"no dtype", entry(R"("shape": [2], "data_offsets": [0, 8])"),
       "w: has no dtype"},
      {"odd dtype",
       entry(R"("dtype": "F4", "shape": [2], "data_offsets": [0, 8])"),
       "w: dtype F4"},
      {"no shape", entry(R"("dtype": "F32", "data_offsets": [0, 8])"),
       "w: has no list shape"},
      {"nested shape",
       entry(R"("dtype": "F32", "shape": [[[2]]], "data_offsets": [0, 8])"),
       "w: shape holds"},
      {"negative",
       entry(R"("dtype": "F32", "shape": [-2], "data_offsets": [0, 8])"),
       "w: shape holds"},
      {"wrong size",
       entry(R"("dtype": "F32", "shape": [3], "data_offsets": [0, 8])"),
       "w: its shape needs 12"},
      {"backwards",
       entry(R"("dtype": "F32", "shape": [2], "data_offsets": [8, 0])"),
       "w: data_offsets"},
      {"past the end",
       entry(R"("dtype": "F32", "shape": [4], "data_offsets": [0, 16])"),
       "w: ends at byte 16"},
      {"gap", entry(R"("dtype": "F32", "shape": [1], "data_offsets": [4, 8])"),
       "w: begins at byte 4"},
      {"trailing", entry(R"("dtype": "F32", "shape": [1],
                            "data_offsets": [0, 4])"),
       "end at byte 4"},
      {"overflow", entry(R"("dtype": "F32", "data_offsets": [0, 8],
                            "shape": [4611686018427387904, 8])"),
       "w: its shape overflows"},
      {"overlap",
       Safetensors(R"({
           "a": {"dtype": "U8", "shape": [6], "data_offsets": [0, 6]},
           "b": {"dtype": "U8", "shape": [6], "data_offsets": [2, 8]}})",
                   "12345678"),
       "b: begins at byte 2, expected 6"},
  });
}

// Every prefix and every changed byte of a small file: an error or a result,
// never a crash. Worth most under a sanitizer.
TEST(TensorFileTest, DamagedFilesDoNotCrash) {
  for (const std::string& good :
       {Zip({{"w.npy", SmallNpy()}, {"v.npy", SmallNpy()}}, {.deflate = true}),
        Zip({{"w.npy", SmallNpy()}}, {.zip64 = true}), SmallNpy(),
        Safetensors(
            R"({"w": {"dtype": "U8", "shape": [2], "data_offsets": [0, 2]}})",
            "ab")}) {
    ASSERT_TRUE(ParseTensors(good).ok());
    for (size_t i = 0; i < good.size(); ++i) {
      EXPECT_FALSE(ParseTensors(good.substr(0, i)).ok()) << i;
      for (const int change : {1, 0x20, 0x80, 0xff}) {
        std::string bad = good;
        bad[i] = static_cast<char>(bad[i] ^ change);
        ParseTensors(bad).IgnoreError();
      }
    }
  }
}

}  // namespace
}  // namespace meshwright
