#include "meshwright/checkpoint/reader.h"

#include <fstream>
#include <sstream>

#include "gmock/gmock.h"
#include "meshwright/checkpoint/checkpoint_for_test.h"
#include "meshwright/checkpoint/compare.h"
#include "meshwright/checkpoint/crc32c.h"
#include "meshwright/checkpoint/safetensors_set.h"
#include "meshwright/state/tensor_file.h"

namespace meshwright {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

std::string BytesOf(const std::string& path) {
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return bytes.str();
}

void Put(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

class ReaderTest : public CheckpointTest {
 protected:
  std::vector<Tensor> Tensors() {
    std::vector<Tensor> tensors = {
        Random("scalar", ElementType::kS32, {}),
        Random("none", ElementType::kF32, {3, 0, 2}),
        Random("w", ElementType::kF32, {17, 5, 9}),
        Random("half", ElementType::kBF16, {64, 33}),
        Random("packed", ElementType::kU4, {7, 3}),
        Random("pair", ElementType::kC128, {5, 2}),
        Random("large", ElementType::kF64, {700, 401})};
    for (const ElementType type :
         {ElementType::kPred, ElementType::kS8, ElementType::kU16,
          ElementType::kU64, ElementType::kF16, ElementType::kC64,
          ElementType::kF8E4M3FN, ElementType::kF8E5M2}) {
      tensors.push_back(Random(absl::StrCat("t/", Name(type)), type, {6, 10}));
    }
    for (char& value : tensors[7].data) value = value & 1;
    return tensors;
  }

  std::string Folder() const { return directory_ + "/step_00000003"; }

  absl::Status ReadAll() {
    auto reader = CheckpointReader::Open(directory_);
    if (!reader.ok()) return reader.status();
    for (const SavedTensor& saved : (*reader)->manifest().tensors) {
      const auto read = (*reader)->ReadTensor(saved);
      if (!read.ok()) return read.status();
    }
    return absl::OkStatus();
  }
  absl::Status Verify() {
    auto reader = CheckpointReader::Open(directory_);
    return reader.ok() ? (*reader)->Verify() : reader.status();
  }
};

TEST_F(ReaderTest, WhatWasSavedInAnyRegionsComesBack) {
  for (int round = 0; round < 20; ++round) {
    const std::vector<Tensor> tensors = Tensors();
    Save(tensors, 3, 1 + round % 4);
    const auto reader = CheckpointReader::Open(directory_);
    ASSERT_TRUE(reader.ok()) << reader.status();
    EXPECT_EQ((*reader)->manifest().step, 3);
    EXPECT_EQ((*reader)->manifest().extra, R"({"data":{"position":7}})");
    ASSERT_EQ((*reader)->manifest().tensors.size(), tensors.size());
    for (size_t i = 0; i < tensors.size(); ++i) {
      const auto read = (*reader)->ReadTensor((*reader)->manifest().tensors[i]);
      ASSERT_TRUE(read.ok()) << read.status();
      ASSERT_EQ(*read, tensors[i]);
    }
    EXPECT_TRUE((*reader)->Verify().ok());
  }
}

TEST_F(ReaderTest, AnyRegionsAreReadIntoAnyPlace) {
  const std::vector<Tensor> tensors = Tensors();
  Save(tensors, 3, 3);
  const auto reader = CheckpointReader::Open(directory_);
  ASSERT_TRUE(reader.ok()) << reader.status();
  for (int round = 0; round < 50; ++round) {
    // Each region of other cuts goes into an array with a margin around it.
    std::vector<WantedRegion> wanted;
    std::vector<std::string> arrays;
    arrays.reserve(1000);
    for (size_t i = 0; i < tensors.size(); ++i) {
      const Tensor& tensor = tensors[i];
      for (const TensorRegion& region : RandomRegions(tensor)) {
        BoxInArray box{region.dimensions(), {}};
        int64_t bytes = HostBytes(tensor.type);
        for (int64_t& size : box.dimensions) {
          box.start.push_back(Below(3));
          size += box.start.back() + Below(3);
          bytes *= size;
        }
        arrays.emplace_back(bytes, '\x55');
        wanted.push_back({.tensor = &(*reader)->manifest().tensors[i],
                          .region = region,
                          .data = arrays.back().data(),
                          .box = box});
      }
    }
    ASSERT_TRUE((*reader)->Read(wanted).ok());
    for (size_t i = 0; i < wanted.size(); ++i) {
      const WantedRegion& want = wanted[i];
      const Tensor& tensor =
          tensors[want.tensor - (*reader)->manifest().tensors.data()];
      // What the array should be: the margin untouched.
      std::string array(arrays[i].size(), '\x55');
      BoxRuns runs(want.region.dimensions(),
                   {tensor.dimensions, want.region.start}, want.box,
                   HostBytes(tensor.type));
      runs.ForEach(0, [&](const BoxRuns::Run& run) {
        array.replace(run.to, run.bytes, tensor.data, run.from, run.bytes);
        return true;
      });
      ASSERT_EQ(arrays[i], array) << tensor.name << want.region.ToString();
    }
  }
}

TEST_F(ReaderTest, EveryDamageIsRefused) {
  std::vector<Tensor> tensors = {Random("a", ElementType::kF32, {5, 7}),
                                 Random("b", ElementType::kU8, {90})};
  Save(tensors, 3, 2);
  ASSERT_EQ(Verify(), absl::OkStatus());
  for (const auto& entry : fs::directory_iterator(Folder())) {
    const std::string path = entry.path().string();
    const std::string whole = BytesOf(path);
    for (size_t at = 0; at < whole.size(); ++at) {
      std::string bytes = whole;
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << Below(8)));
      Put(path, bytes);
      const absl::Status status = Verify();
      ASSERT_THAT(std::string(status.message()), HasSubstr(path)) << at;
      ASSERT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
      ASSERT_FALSE(ReadAll().ok()) << path << at;
    }
    for (int i = 0; i < 60; ++i) {
      Put(path, whole.substr(0, Below(std::ssize(whole))));
      ASSERT_THAT(std::string(Verify().message()), HasSubstr(path));
    }
    Put(path, whole + "x");
    EXPECT_THAT(std::string(Verify().message()), HasSubstr(path));
    fs::remove(path);
    const absl::Status missing = Verify();
    EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
    Put(path, whole);
  }
  EXPECT_EQ(Verify(), absl::OkStatus());
}

// A manifest whose checksum is right and whose content is not.
TEST_F(ReaderTest, ManifestsThatContradictThemselvesAreRefused) {
  Save({Random("a", ElementType::kF32, {4, 6})}, 3, 1);
  const Manifest good = (*CheckpointReader::Open(directory_))->manifest();
  const auto refused = [&](Manifest manifest) {
    const auto text = WriteManifest(manifest);
    EXPECT_TRUE(text.ok());
    return std::string(ParseManifest(*text).status().message());
  };
  EXPECT_EQ(refused(good), "");
  const auto with = [&](auto change) {
    Manifest manifest = good;
    manifest.tensors[0].regions = {{.region = TensorRegion::Whole({4, 6}),
                                    .offset = good.files[0].header_bytes,
                                    .crcs = {1}}};
    change(manifest);
    return refused(manifest);
  };
  EXPECT_EQ(with([](Manifest&) {}), "");
  EXPECT_THAT(with([](Manifest& m) {
                m.tensors[0].regions.push_back(m.tensors[0].regions[0]);
              }),
              HasSubstr("overlap"));
  EXPECT_THAT(
      with([](Manifest& m) { m.tensors[0].regions[0].region.limit[0] = 3; }),
      HasSubstr("leave out 6 elements"));
  EXPECT_THAT(with([](Manifest& m) { m.tensors[0].regions[0].file = 1; }),
              HasSubstr("names file 1 of 1"));
  EXPECT_THAT(with([](Manifest& m) { m.tensors[0].regions[0].offset = 1; }),
              HasSubstr("is outside"));
  EXPECT_THAT(
      with([](Manifest& m) { m.tensors[0].regions[0].offset = INT64_MAX; }),
      HasSubstr("is outside"));
  EXPECT_THAT(with([](Manifest& m) { m.tensors[0].regions[0].crcs.clear(); }),
              HasSubstr("checksums"));
  EXPECT_THAT(with([](Manifest& m) {
                m.tensors[0].info.dimensions = {INT64_MAX, INT64_MAX};
              }),
              HasSubstr("overflows"));
  EXPECT_THAT(with([](Manifest& m) { m.tensors.push_back(m.tensors[0]); }),
              HasSubstr("is there twice"));
  EXPECT_THAT(with([](Manifest& m) { m.files[0].name = "../x"; }),
              HasSubstr("no file name"));
}

TEST_F(ReaderTest, OtherVersionsAreNamed) {
  Save({Random("a", ElementType::kF32, {2})}, 3, 1);
  const std::string path = Folder() + "/manifest.json";
  std::string text = BytesOf(path);
  const size_t at = text.find("\"version\":1");
  text.replace(at, 11, "\"version\":2");
  // As a later program would have written it.
  const std::string covered = text.substr(0, text.rfind(",\"crc32c\":\""));
  Put(path, absl::StrCat(covered, ",\"crc32c\":\"",
                         absl::Hex(Crc32c(covered.data(), covered.size()),
                                   absl::kZeroPad8),
                         "\"}\n"));
  EXPECT_THAT(std::string(Verify().message()),
              AllOf(HasSubstr(path), HasSubstr("format version 2")));
}

TEST_F(ReaderTest, OthersReadTheFilesAndTheirsAreTaken) {
  std::vector<Tensor> tensors = {Random("p/a", ElementType::kF32, {30, 7}),
                                 Random("p/b", ElementType::kBF16, {90}),
                                 Random("q", ElementType::kS64, {})};
  Save(tensors, 3, 2);
  // Plain safetensors: our reader of others' files reads them.
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(
        ReadTensorFile(absl::StrCat(Folder(), "/", ShardFileName(i))).ok());
  }
  const auto reader = CheckpointReader::Open(directory_).value();
  const std::string out = directory_ + "/out";
  const auto set = ExportSet(*reader, {.output = out, .max_file_bytes = 200});
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_EQ(set->files.size(), 2u);
  EXPECT_EQ(ExportSet(*reader, {.output = out}).status().code(),
            absl::StatusCode::kAlreadyExists);
  const auto file = ReadTensorFile(out + "/" + set->files[0]);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ((*file)[0], tensors[0]);
  const auto imported =
      ImportSet({.source = out, .directory = directory_ + "/in", .step = 5});
  ASSERT_TRUE(imported.ok()) << imported.status();
  const auto other = CheckpointReader::Open(*imported).value();
  const auto same = CompareCheckpoints(*reader, *other);
  ASSERT_TRUE(same.ok()) << same.status();
  EXPECT_EQ(same->equal, 3);
  EXPECT_TRUE(same->different.empty());
  const auto part = ExportSet(
      *reader, {.output = directory_ + "/p", .prefix = "p/", .strip = true});
  ASSERT_TRUE(part.ok()) << part.status();
  EXPECT_EQ(ReadTensorFile(directory_ + "/p/model.safetensors")->at(0).name,
            "a");
}

TEST_F(ReaderTest, DifferencesAreMeasured) {
  Tensor a{.name = "a", .type = ElementType::kF32, .dimensions = {2}};
  const float values[] = {1, 2};
  a.data.assign(reinterpret_cast<const char*>(values), 8);
  Save({a, Random("gone", ElementType::kU8, {3})}, 3, 1);
  const auto one = CheckpointReader::Open(Folder()).value();
  const float others[] = {1, 4};
  a.data.assign(reinterpret_cast<const char*>(others), 8);
  Save({a}, 4, 1);
  const auto other = CheckpointReader::Open(directory_).value();
  EXPECT_EQ(other->manifest().step, 4);
  const auto found = CompareCheckpoints(*one, *other);
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_EQ(found->different.size(), 2u);
  EXPECT_EQ(found->different[0].elements, 1);
  EXPECT_EQ(found->different[0].max_abs, 2);
  EXPECT_EQ(found->different[0].max_rel, 0.5);
  EXPECT_EQ(found->different[1].b, "");
}

}  // namespace
}  // namespace meshwright
