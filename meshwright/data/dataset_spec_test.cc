#include "meshwright/data/dataset_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "meshwright/data/dataset_files_for_test.h"

namespace meshwright {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kTokens[] = R"({
  "kind": "tokens", "files": ["/data/train-*.bin"], "dtype": "uint16",
  "sequence": 128, "shuffle": 7, "shard_by": "file", "sink": 4,
  "vocabulary": 50257,
  "parameters": {"batch/tokens": "inputs", "batch/targets": "targets"}})";

TEST(DatasetSpecTest, ReadsAndWritesAllThereIs) {
  const auto spec = ParseDatasetSpec(kTokens);
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->sequence, 128);
  EXPECT_EQ(spec->shuffle, 7u);
  EXPECT_EQ(spec->shard_by, DatasetSpec::ShardBy::kFile);
  EXPECT_EQ(spec->sink, 4);
  EXPECT_EQ(spec->vocabulary, 50257);
  EXPECT_EQ(spec->parameters.at("batch/targets"), "targets");
  EXPECT_EQ(ParseDatasetSpec(ToJson(*spec)).value(), *spec);
  const auto arrays = ParseDatasetSpec(
      R"({"kind": "npz", "files": "a.npz", "parameters": {"x": "images"}})");
  ASSERT_TRUE(arrays.ok()) << arrays.status();
  EXPECT_EQ(arrays->shuffle, std::nullopt);
  EXPECT_EQ(ParseDatasetSpec(ToJson(*arrays)).value(), *arrays);
}

TEST(DatasetSpecTest, MistakesAreNamed) {
  const struct {
    std::string text;
    std::string want;
  } kCases[] = {
      {"", "is not a JSON object"},
      {"[1]", "is not a JSON object"},
      {"{\"kind\": \"tok", "is not a JSON object"},
      {"{}", "lacks \"kind\": \"tokens\", \"npz\""},
      {R"({"kind": 3})", "\"kind\" is one of \"tokens\", \"npz\", not 3"},
      {R"({"kind": "npz"})", "lacks \"files\""},
      {R"({"kind": "npz", "files": [1]})", "lacks \"parameters\""},
      {R"({"kind": "npz", "files": [1], "parameters": {"x": "y"}})",
       "\"files\" is a list of paths"},
      {R"({"kind": "npz", "files": ["a"], "parameters": []})",
       "\"parameters\" is an object"},
      {R"({"kind": "npz", "files": ["a"], "parameters": {"x": 1}})",
       "parameter \"x\""},
      {R"({"kind": "npz", "files": ["a"], "parameters": {"x": "y"},
           "sequence": 3})",
       "\"sequence\" is for kind \"tokens\" only"},
      {R"({"kind": "npz", "files": ["a"], "parameters": {"x": "y"},
           "shufle": 3})",
       "unknown key \"shufle\"; did you mean shuffle?"},
      {R"({"kind": "npz", "files": ["a"], "parameters": {"x": "y"},
           "shuffle": 1e30})",
       "\"shuffle\" is a whole number of at least 0"},
      {R"({"kind": "npz", "files": ["a"], "parameters": {"x": "y"},
           "sink": -1})",
       "\"sink\" is a whole number of at least 0, not -1"},
      {R"({"kind": "tokens", "files": ["a"], "parameters": {"x": "inputs"},
           "sequence": 0})",
       "\"sequence\" is a whole number of at least 1, not 0"},
      {R"({"kind": "tokens", "files": ["a"], "parameters": {"x": "z"}})",
       "\"z\" is none of inputs, targets, tokens"},
  };
  for (const auto& [text, want] : kCases) {
    const auto spec = ParseDatasetSpec(text);
    EXPECT_EQ(spec.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(spec.status().message()), HasSubstr(want)) << text;
  }
}

TEST(DatasetSpecTest, DamagedTextIsNeverMoreThanAMistake) {
  const std::string good = kTokens;
  for (size_t at = 0; at < good.size(); ++at) {
    std::string cut = good.substr(0, at);
    ParseDatasetSpec(cut).IgnoreError();
    std::string changed = good;
    for (const char c : {'"', '{', '[', '9', '\0', '\xff'}) {
      changed[at] = c;
      const auto spec = ParseDatasetSpec(changed);
      if (spec.ok()) {
        EXPECT_TRUE(ParseDatasetSpec(ToJson(*spec)).ok());
      }
    }
  }
  EXPECT_FALSE(ParseDatasetSpec(std::string(100'000, '[')).ok());
}

TEST(DatasetSpecTest, PatternsStandForFilesSortedByName) {
  const DatasetFilesForTest files;
  for (const char* name : {"b10", "b9", "a", "c[1]"}) files.Write(name, "");
  const DatasetSpec spec{
      .files = {files.Path("b*"), files.Path("a"), files.Path("c[1]")}};
  const auto found = FindFiles(spec);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_THAT(*found, ElementsAre(files.Path("b10"), files.Path("b9"),
                                  files.Path("a"), files.Path("c[1]")));
  DatasetSpec relative{.files = {"x/*.bin", "/y.bin"}};
  ResolvePaths("/data", relative);
  EXPECT_THAT(relative.files, ElementsAre("/data/x/*.bin", "/y.bin"));
}

}  // namespace
}  // namespace meshwright
