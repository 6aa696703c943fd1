#include "meshwright/annotations/sharding_file.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/annotations/name_pattern.h"
#include "meshwright/mesh/sharding_text.h"

namespace meshwright {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// step(state/w f32[8,16], state/b f32[16], x f32[4,8]) -> (dot f32[4,16], b)
class ShardingFileTest : public testing::Test {
 protected:
  ShardingFileTest() : module_("step") {
    const auto array = [](std::vector<int64_t> dimensions) {
      return Shape::Array(ElementType::kF32, std::move(dimensions));
    };
    Computation* entry = module_.AddComputation("main");
    Instruction* w = entry->AddParameter(array({8, 16}), "p0");
    Instruction* b = entry->AddParameter(array({16}), "p1");
    Instruction* x = entry->AddParameter(array({4, 8}), "p2");
    dot_ = entry->Add(Opcode::kDot, array({4, 16}), {x, w}, "dot.7");
    entry->Add(Opcode::kTuple, Shape::Tuple({dot_->shape, b->shape}), {dot_, b},
               "root");
    module_.set_entry(entry);
  }

  absl::StatusOr<ShardingFile> Parse(absl::string_view text,
                                     ShardingFileOptions options = {}) {
    return ParseShardingFile(text, module_, names_, options);
  }

  // The shardings of parameters and outputs; "!" and the message if none.
  std::vector<std::string> Texts(absl::string_view text) {
    const auto file = Parse(text);
    if (!file.ok()) return {absl::StrCat("! ", file.status().message())};
    std::vector<std::string> texts;
    for (const auto* list :
         {&file->annotations.parameters, &file->annotations.outputs}) {
      for (const auto& annotation : *list) {
        texts.push_back(annotation.has_value()
                            ? ToString(annotation->sharding, file->mesh)
                            : "none");
      }
    }
    return texts;
  }

  std::string Error(absl::string_view text, ShardingFileOptions options = {}) {
    const auto file = Parse(text, options);
    EXPECT_EQ(file.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(file.status().message());
  }

  // The message for a sharding of state/w.
  std::string ErrorOfW(absl::string_view value) {
    return Error(absl::StrCat(R"({"mesh": {"data": 4, "model": 2},
                                  "parameters": {"state/w": )",
                              value, "}}"));
  }

  Module module_;
  Instruction* dot_ = nullptr;
  const TensorNames names_ = {{"state/w", "state/b", "x"},
                              {"out/0", "state/b"}};
};

TEST_F(ShardingFileTest, ReadsBothForms) {
  EXPECT_THAT(Texts(R"({"mesh": {"data": 4, "model": 2},
                        "parameters": {"state/w": "[-, model]",
                                       "state/b": [["model", "data"]],
                                       "x": ["data", null]},
                        "outputs": {"out/0": [[], ["data:(2)2"]]}})"),
              ElementsAre("[-, model]", "[(model,data)]", "[data, -]",
                          "[-, data:(2)2]", "none"));
  // Axes stay in the order of the file.
  EXPECT_EQ(Parse(R"({"mesh": {"z": 2, "a": 3}})")->mesh.ToString(), "z=2,a=3");
  EXPECT_EQ(Parse(R"({"mesh": "z=2,a=3"})")->mesh.ToString(), "z=2,a=3");
}

TEST_F(ShardingFileTest, NamesComeBeforePatternsAndThoseInOrder) {
  EXPECT_THAT(Texts(R"({"mesh": {"d": 2},
                        "parameters": {"state/*": null, "*": "[-, d]",
                                       "state/w": "[d, -]"}})"),
              ElementsAre("[d, -]", "none", "[-, d]", "none", "none"));
}

TEST_F(ShardingFileTest, DimensionsCanBeLeftOpen) {
  const auto file = Parse(R"({"mesh": {"a": 2, "b": 2},
      "parameters": {"state/w": "[(a,b), ?]", "x": ["a", "?"],
                     "state/b": "[?]"},
      "instructions": {"dot*": "[a, ?] +{b}"}})");
  ASSERT_TRUE(file.ok()) << file.status();
  const Annotations& found = file->annotations;
  EXPECT_EQ(ToString(found.parameters[0]->sharding, file->mesh), "[(a,b), -]");
  EXPECT_THAT(found.parameters[0]->free, ElementsAre(false, true));
  EXPECT_THAT(found.parameters[2]->free, ElementsAre(false, true));
  EXPECT_FALSE(found.parameters[1].has_value());
  ASSERT_EQ(found.instructions.size(), 1u);
  const Annotation& dot = found.instructions.at(dot_);
  EXPECT_EQ(ToString(dot.sharding, file->mesh), "[a, -] +{b}");
  EXPECT_THAT(dot.free, ElementsAre(false, true));
}

TEST_F(ShardingFileTest, TheMeshMayComeFromOutside) {
  const Mesh mesh = Mesh::Parse("d=2").value();
  EXPECT_EQ(Parse(R"({"parameters": {"x": "[d, -]"}})", {.mesh = mesh})->mesh,
            mesh);
  EXPECT_THAT(Error("{}"), HasSubstr("no mesh"));
  EXPECT_THAT(Error(R"({"mesh": {"d": 4}})", {.mesh = mesh}),
              HasSubstr("is for the mesh d=4, not d=2"));
}

TEST_F(ShardingFileTest, MistakesNameTheTensor) {
  EXPECT_THAT(ErrorOfW("\"[dta, -]\""),
              HasSubstr("parameter state/w: '[dta, -]': no mesh axis 'dta'; "
                        "the mesh is data=4,model=2"));
  EXPECT_THAT(ErrorOfW("[[], [\"dta\"]]"),
              HasSubstr("parameter state/w: no mesh axis 'dta'"));
  EXPECT_THAT(ErrorOfW("[[\"data\"]]"),
              HasSubstr("state/w: the sharding has 1 dimensions, the tensor "
                        "has 2"));
  EXPECT_THAT(ErrorOfW("[[\"data\"], [\"data\"]]"), HasSubstr("used twice"));
  EXPECT_THAT(ErrorOfW("[[\"data\", \"data\"], []]"), HasSubstr("used twice"));
  EXPECT_THAT(ErrorOfW("[4, []]"), HasSubstr("a list of axes, got 4"));
  EXPECT_THAT(ErrorOfW("4"), HasSubstr("expected a sharding"));
  EXPECT_THAT(ErrorOfW("\"[-, -] +{data}\""),
              HasSubstr("state/w: must not have a pending reduction"));
  const char* uneven = R"({"mesh": {"d": 3}, "parameters": {"x": "[d, -]"}})";
  EXPECT_TRUE(Parse(uneven).ok());
  EXPECT_THAT(Error(uneven, {.allow_uneven = false}),
              HasSubstr("parameter x: dimension 0 of size 4 does not divide "
                        "over d=3"));
}

TEST_F(ShardingFileTest, KeysThatMatchNothingAreNamed) {
  EXPECT_THAT(Error(R"({"mesh": {"d": 2}, "parameters": {"state/v": "[d]"}})"),
              HasSubstr("no parameter is called \"state/v\"; near it are "
                        "state/w, state/b, x"));
  EXPECT_THAT(Error(R"({"mesh": {"d": 2}, "parameters": {"y*": "[d]"}})"),
              HasSubstr("no parameter is called \"y*\""));
  EXPECT_THAT(Error(R"({"mesh": {"d": 2}, "outputs": {"out": "[d]"}})"),
              HasSubstr("no output is called \"out\"; near it are out/0"));
  EXPECT_THAT(Error(R"({"mesh": {"d": 2}, "instructions": {"dot": "[d]"}})"),
              HasSubstr("no instruction is called \"dot\"; near it are dot.7"));
}

TEST_F(ShardingFileTest, OtherFilesAreRefused) {
  EXPECT_THAT(Error("{"), HasSubstr("not valid JSON"));
  EXPECT_THAT(Error("[]"), HasSubstr("not a JSON object"));
  EXPECT_THAT(Error(R"({"params": {}})"), HasSubstr("unknown key \"params\""));
  EXPECT_THAT(Error(R"({"mesh": 4})"), HasSubstr("\"mesh\" must be"));
  EXPECT_THAT(Error(R"({"mesh": {"d": "x"}})"), HasSubstr("mesh axis \"d\""));
  EXPECT_THAT(Error(R"({"mesh": {"d": 0}})"), HasSubstr("size 0"));
  EXPECT_THAT(Error(R"({"mesh": {"d": 2}, "outputs": []})"),
              HasSubstr("\"outputs\" must be an object"));
}

TEST(NamePatternTest, StarsStandForAnyCharacters) {
  EXPECT_TRUE(Matches("a/*/c", "a/b/b/c"));
  EXPECT_TRUE(Matches("*", ""));
  EXPECT_TRUE(Matches("*ab", "aab"));
  EXPECT_TRUE(Matches("a*b*c", "abxbc"));
  EXPECT_FALSE(Matches("a*b*c", "abxb"));
  EXPECT_FALSE(Matches("a", "ab"));
  EXPECT_FALSE(Matches("a*b", "a"));
}

TEST(NamePatternTest, NearestNamesTakeFewestChanges) {
  const std::vector<std::string> names = {"kitten", "bitten", "sitting", "x"};
  EXPECT_THAT(NearestNames("mitten", names, 2),
              ElementsAre("kitten", "bitten"));
  EXPECT_THAT(NearestNames("sittin", names, 1), ElementsAre("sitting"));
  EXPECT_THAT(NearestNames("x", {}, 3), ElementsAre());
}

TEST(NamePatternTest, ClosestNamesAreEquallyNear) {
  const std::vector<std::string> names = {"layer_10", "layer_2", "layer_0",
                                          "head", "layer_1"};
  EXPECT_THAT(ClosestNames("layer_7", names, 2),
              ElementsAre("layer_2", "layer_0"));
  EXPECT_THAT(ClosestNames("layer_7", names, 9),
              ElementsAre("layer_2", "layer_0", "layer_1"));
  EXPECT_THAT(ClosestNames("hat", names, 9), ElementsAre("head"));
  EXPECT_THAT(ClosestNames("xyz", names, 9), ElementsAre());
}

}  // namespace
}  // namespace meshwright
