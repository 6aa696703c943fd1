#include "meshwright/annotations/annotations.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/annotations/op_sharding_conversion.h"
#include "meshwright/annotations/testdata_for_test.h"
#include "meshwright/mesh/sharding_text.h"

namespace meshwright {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

Mesh DataModel() { return Mesh::Parse("data=4,model=2").value(); }

// "[data, -]", with " free N" for each free dimension, "none" for nothing.
std::string Text(const std::optional<Annotation>& annotation,
                 const Mesh& mesh) {
  if (!annotation.has_value()) return "none";
  std::string text = ToString(annotation->sharding, mesh);
  for (size_t i = 0; i < annotation->free.size(); ++i) {
    if (annotation->free[i]) text += " free " + std::to_string(i);
  }
  return text;
}

std::vector<std::string> Texts(
    const std::vector<std::optional<Annotation>>& annotations,
    const Mesh& mesh) {
  std::vector<std::string> texts;
  for (const auto& annotation : annotations) {
    texts.push_back(Text(annotation, mesh));
  }
  return texts;
}

// Of the instructions that are calls of "Sharding".
std::vector<std::string> CallTexts(const Annotations& annotations,
                                   const Mesh& mesh) {
  std::vector<std::string> texts;
  for (const auto& [instruction, annotation] : annotations.instructions) {
    if (instruction->attributes->custom_call_target == "Sharding") {
      texts.push_back(Text(annotation, mesh));
    }
  }
  return texts;
}

std::string Error(const Module& module, const Mesh& mesh) {
  return std::string(ReadAnnotations(module, mesh).status().message());
}

class JaxAnnotationsTest : public testing::TestWithParam<const char*> {};

TEST_P(JaxAnnotationsTest, OfAStepAreAsWritten) {
  const Module module = ReadTestModule(std::string("step.") + GetParam());
  const Mesh mesh = DataModel();
  const auto annotations = ReadAnnotations(module, mesh);
  ASSERT_TRUE(annotations.ok()) << annotations.status();
  EXPECT_THAT(Texts(annotations->parameters, mesh),
              ElementsAre("[model, -]", "none", "[data, -]"));
  // b, w, z, the sum (left open) and the maximum (asked for whole).
  EXPECT_THAT(
      Texts(annotations->outputs, mesh),
      ElementsAre("none", "[model, -]", "[-, (data,model)]", "none", "[]"));
  EXPECT_THAT(CallTexts(*annotations, mesh),
              UnorderedElementsAre("[data, -] free 1", "[-, (model,data)]"));
}

TEST_P(JaxAnnotationsTest, InLoopsAreFound) {
  const Module module = ReadTestModule(std::string("scan.") + GetParam());
  const Mesh mesh = DataModel();
  const auto annotations = ReadAnnotations(module, mesh);
  ASSERT_TRUE(annotations.ok()) << annotations.status();
  EXPECT_THAT(Texts(annotations->parameters, mesh),
              ElementsAre("[-, -]", "[data, model]"));
  EXPECT_THAT(Texts(annotations->outputs, mesh), ElementsAre("none"));
  ASSERT_THAT(CallTexts(*annotations, mesh), ElementsAre("[data, model]"));
}

TEST_P(JaxAnnotationsTest, OfAValueAreNotThoseOfTheOutputItBecomes) {
  const Module module =
      ReadTestModule(std::string("constrained_output.") + GetParam());
  const Mesh mesh = DataModel();
  const auto annotations = ReadAnnotations(module, mesh);
  ASSERT_TRUE(annotations.ok()) << annotations.status();
  EXPECT_THAT(Texts(annotations->outputs, mesh),
              ElementsAre("none", "[-, model]"));
  EXPECT_THAT(CallTexts(*annotations, mesh), ElementsAre("[data, -]"));
}

TEST_P(JaxAnnotationsTest, AreReadOnOtherMeshesThatFit) {
  const Module module = ReadTestModule(std::string("step.") + GetParam());
  const Mesh mesh = Mesh::Parse("x=2,y=2,z=2").value();
  const auto annotations = ReadAnnotations(module, mesh);
  ASSERT_TRUE(annotations.ok()) << annotations.status();
  EXPECT_THAT(Texts(annotations->parameters, mesh),
              ElementsAre("[z, -]", "none", "[(x,y), -]"));
  EXPECT_THAT(Error(module, Mesh::Parse("4").value()),
              HasSubstr("parameter 0 ("))
      << "too few devices";
}

TEST_P(JaxAnnotationsTest, OfRegionsSplitByHandAreRefused) {
  const Module module = ReadTestModule(std::string("manual.") + GetParam());
  EXPECT_THAT(Error(module, DataModel()), HasSubstr("(shard_map)"));
}

INSTANTIATE_TEST_SUITE_P(Forms, JaxAnnotationsTest, testing::ValuesIn(kForms));

TEST(AnnotationsTest, ValuesThatAreToBeSplitAlikeAreListed) {
  const Module shardy = ReadTestModule("alike.shardy.jax10");
  const auto annotations = ReadAnnotations(shardy, DataModel());
  ASSERT_TRUE(annotations.ok()) << annotations.status();
  ASSERT_EQ(annotations->sharding_groups.size(), 1u);
  std::vector<const Instruction*> values;
  for (const Instruction* mark : annotations->sharding_groups[0]) {
    values.push_back(mark->operands[0]);
  }
  EXPECT_THAT(values, ElementsAre(shardy.entry()->root()->operands[0],
                                  shardy.entry()->root()->operands[1]));
  // The older form only marks them as unknown.
  const Module gspmd = ReadTestModule("alike.gspmd.jax10");
  const auto unknown = ReadAnnotations(gspmd, DataModel());
  ASSERT_TRUE(unknown.ok()) << unknown.status();
  EXPECT_THAT(unknown->instructions, IsEmpty());
}

// step(a, (b, c)) -> (a, b), everything f32[8].
Module TupleModule() {
  Module module("tuples");
  const Shape vector = Shape::Array(ElementType::kF32, {8});
  Computation* entry = module.AddComputation("main");
  Instruction* a = entry->AddParameter(vector, "a");
  Instruction* bc = entry->AddParameter(Shape::Tuple({vector, vector}), "bc");
  Instruction* b = entry->Add(Opcode::kGetTupleElement, vector, {bc}, "b");
  entry->Add(Opcode::kTuple, Shape::Tuple({vector, vector}), {a, b}, "root");
  module.set_entry(entry);
  return module;
}

OpSharding Split(const Mesh& mesh, absl::string_view text) {
  return ToOpSharding(ParseSharding(text, {8}, mesh).value(), mesh).value();
}

TEST(AnnotationsTest, TuplesHaveOnePerLeaf) {
  const Mesh mesh = DataModel();
  Module module = TupleModule();
  OpSharding& parameter = module.entry()->Parameters()[1]->sharding.mutate();
  parameter.kind = OpSharding::Kind::kTuple;
  parameter.tuple = {Split(mesh, "[data]"), Split(mesh, "[model]")};
  // One for the whole tuple.
  module.entry()->root()->sharding.mutate() = OpSharding();
  const auto annotations = ReadAnnotations(module, mesh);
  ASSERT_TRUE(annotations.ok()) << annotations.status();
  EXPECT_THAT(Texts(annotations->parameters, mesh),
              ElementsAre("none", "[data]", "[model]"));
  EXPECT_THAT(Texts(annotations->outputs, mesh), ElementsAre("[-]", "[-]"));
}

TEST(AnnotationsTest, TheModulesOwnListsAreRead) {
  const Mesh mesh = DataModel();
  Module module = TupleModule();
  module.spmd_parameters_shardings = {Split(mesh, "[model]"), OpSharding()};
  OpSharding& output = module.spmd_output_sharding.mutate();
  output.kind = OpSharding::Kind::kTuple;
  output.tuple = {Split(mesh, "[(data,model)]"), OpSharding()};
  const auto annotations = ReadAnnotations(module, mesh);
  ASSERT_TRUE(annotations.ok()) << annotations.status();
  EXPECT_THAT(Texts(annotations->parameters, mesh),
              ElementsAre("[model]", "[-]", "[-]"));
  EXPECT_THAT(Texts(annotations->outputs, mesh),
              ElementsAre("[(data,model)]", "[-]"));
}

TEST(AnnotationsTest, PartialSumsAreReadOnShardysOwnMesh) {
  Module module = TupleModule();
  module.frontend_attributes["xla.sdy.meshes"] =
      "{mesh = #sdy.mesh<[\"data\"=4, \"model\"=2]>}";
  module.entry()->Parameters()[0]->frontend_attributes["xla.sdy.sharding"] =
      "#sdy.sharding<@mesh, [{\"data\"}], unreduced={\"model\"}>";
  const auto annotations = ReadAnnotations(module, DataModel());
  ASSERT_TRUE(annotations.ok()) << annotations.status();
  EXPECT_EQ(Text(annotations->parameters[0], DataModel()), "[data] +{model}");
  EXPECT_THAT(Error(module, Mesh::Parse("8").value()), HasSubstr("pending"));
}

TEST(AnnotationsTest, MistakesNameTheTensor) {
  Module module = TupleModule();
  Instruction* a = module.entry()->Parameters()[0];
  a->sharding.mutate() = Split(Mesh::Parse("4").value(), "[d]");
  EXPECT_THAT(Error(module, DataModel()),
              HasSubstr("parameter 0 (a): sharding {devices=[4]<=[4]} is for 4 "
                        "devices, the mesh data=4,model=2 has 8"));
  a->frontend_attributes["xla.sdy.sharding"] = "#sdy.sharding<@m, [{}]>";
  EXPECT_THAT(Error(module, DataModel()),
              HasSubstr("parameter 0 (a): sharding #sdy.sharding<@m, [{}]>: "
                        "the module has no mesh @m"));
}

}  // namespace
}  // namespace meshwright
