#include "meshwright/analysis/roles.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/analysis/summary.h"
#include "meshwright/analysis/testdata_for_test.h"

namespace meshwright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Shape kWeight = Shape::Array(ElementType::kF32, {4, 4});
const Shape kScalar = Shape::Scalar(ElementType::kF32);

// step(w, x) -> (x, w, loss)
Module MakeStep() {
  Module module("step");
  Computation* entry = module.AddComputation("main");
  module.set_entry(entry);
  Instruction* w = entry->AddParameter(kWeight, "p.0");
  Instruction* x = entry->AddParameter(kWeight, "p.1");
  Instruction* loss = entry->Add(Opcode::kConstant, kScalar, {}, "loss");
  entry->Add(Opcode::kTuple, Shape::Tuple({kWeight, kWeight, kScalar}),
             {x, w, loss}, "root");
  return module;
}

void Record(Module& module, int parameter, std::string name, std::string role) {
  FrontendAttributes& attributes =
      module.entry()->instruction(parameter)->frontend_attributes;
  attributes["mw.name"] = std::move(name);
  attributes["mw.role"] = std::move(role);
}

std::vector<std::string> Roles(const ModuleRoles& roles) {
  std::vector<std::string> result;
  for (const ParameterInfo& p : roles.parameters) {
    result.push_back(p.name + " " + std::string(Name(p.role)));
  }
  result.push_back("->");
  for (const OutputInfo& o : roles.outputs) {
    result.push_back(o.name + " " + std::string(Name(o.role)));
  }
  return result;
}

TEST(RolesTest, WithoutAliasesNothingIsState) {
  const ModuleRoles roles = AnalyzeRoles(MakeStep());
  EXPECT_THAT(Roles(roles),
              ElementsAre("p.0 data", "p.1 data", "->", "out/0 metric",
                          "out/1 metric", "out/2 loss"));
  EXPECT_EQ(roles.loss, 2);
  EXPECT_THAT(roles.state_pairs, IsEmpty());
  EXPECT_THAT(roles.warnings, IsEmpty());
}

TEST(RolesTest, AliasesMakeState) {
  Module module = MakeStep();
  module.aliases.push_back({.output_index = {1}, .parameter_number = 0});
  const ModuleRoles roles = AnalyzeRoles(module);
  EXPECT_THAT(Roles(roles),
              ElementsAre("p.0 state", "p.1 data", "->", "out/0 metric",
                          "p.0 state", "out/2 loss"));
  EXPECT_THAT(roles.state_pairs, ElementsAre(StatePair{0, 1}));
}

TEST(RolesTest, TheFrontEndsRecordsComeFirst) {
  Module module = MakeStep();
  Record(module, 0, "state/w", "state");
  Record(module, 1, "frozen", "constant");
  module.aliases.push_back({.output_index = {0}, .parameter_number = 1});
  module.frontend_attributes["mw.outputs"] =
      R"(["out/x", "state/w", "out/loss"])";
  module.frontend_attributes["mw.loss"] = "2";
  const ModuleRoles roles = AnalyzeRoles(module);
  EXPECT_THAT(Roles(roles),
              ElementsAre("state/w state", "frozen constant", "->",
                          "out/x metric", "state/w state", "out/loss loss"));
  EXPECT_THAT(roles.state_pairs, ElementsAre(StatePair{0, 1}));
  EXPECT_THAT(roles.warnings, IsEmpty());
}

TEST(RolesTest, StateWithoutANextValueIsConstant) {
  Module module = MakeStep();
  Record(module, 0, "w", "state");
  const ModuleRoles roles = AnalyzeRoles(module);
  EXPECT_EQ(roles.parameters[0].role, ParameterRole::kConstant);
  EXPECT_THAT(roles.warnings, ElementsAre(HasSubstr("no output")));
}

TEST(RolesTest, BadRecordsAreIgnoredWithAWarning) {
  struct Case {
    const char* key;
    const char* value;
    const char* warning;
  };
  for (const Case& c : {
           Case{"mw.outputs", "[", "not a JSON array"},
           Case{"mw.outputs", "{}", "not a JSON array"},
           Case{"mw.outputs", "[\"a\"]", "names 1 outputs"},
           Case{"mw.outputs", "[1, 2, 3]", "more than strings"},
           Case{"mw.outputs", "[\"\\ud800\", \"\", \"\"]", "not a JSON array"},
           Case{"mw.loss", "x", "mw.loss is \"x\""},
           Case{"mw.loss", "-1", "mw.loss is \"-1\""},
           Case{"mw.loss", "3", "the module has 3 outputs"},
           Case{"mw.loss", "99999999999999999999", "mw.loss is"},
           Case{"mw.loss", "0", "no floating scalar"},
       }) {
    Module module = MakeStep();
    module.frontend_attributes[c.key] = c.value;
    const ModuleRoles roles = AnalyzeRoles(module);
    EXPECT_THAT(roles.warnings, ElementsAre(HasSubstr(c.warning))) << c.value;
    EXPECT_EQ(roles.loss, 2) << c.value;
    EXPECT_EQ(roles.outputs[0].name, "out/0") << c.value;
  }
}

TEST(RolesTest, BadRolesAndAliasesAreIgnoredWithAWarning) {
  Module module = MakeStep();
  Record(module, 0, "w", "weights");
  module.aliases.push_back({.output_index = {7}, .parameter_number = 0});
  module.aliases.push_back({.output_index = {1}, .parameter_number = 9});
  // Two parameters cannot have the same next value.
  module.aliases.push_back({.output_index = {1}, .parameter_number = 0});
  module.aliases.push_back({.output_index = {1}, .parameter_number = 1});
  const ModuleRoles roles = AnalyzeRoles(module);
  EXPECT_EQ(roles.warnings.size(), 4);
  EXPECT_THAT(roles.state_pairs, ElementsAre(StatePair{0, 1}));
}

TEST(RolesTest, NamesFallBackAndAreMadeUnique) {
  Module module = MakeStep();
  module.entry_layout = ProgramShapeOf(*module.entry());
  module.entry_layout->parameter_names = {"same", "same"};
  EXPECT_EQ(AnalyzeRoles(module).parameters[1].name, "same#2");
  // An op_name that all parameters share is no name.
  module.entry()->instruction(0)->metadata.op_name = "device_data";
  module.entry()->instruction(1)->metadata.op_name = "device_data";
  EXPECT_EQ(AnalyzeRoles(module).parameters[0].name, "same");
  module.entry()->instruction(0)->metadata.op_name = "args[0]";
  EXPECT_EQ(AnalyzeRoles(module).parameters[0].name, "args[0]");
}

TEST(RolesTest, ALoneArrayIsOneOutput) {
  Module module("f");
  Computation* entry = module.AddComputation("main");
  module.set_entry(entry);
  entry->AddParameter(kScalar, "x");
  const ModuleRoles roles = AnalyzeRoles(module);
  EXPECT_THAT(Roles(roles), ElementsAre("x data", "->", "out loss"));
}

TEST(RolesTest, DonatedGpt) {
  for (const std::string version : kJaxVersions) {
    const Module module = ReadTestModule("gpt." + version);
    const ModuleRoles roles = AnalyzeRoles(module);
    EXPECT_THAT(roles.warnings, IsEmpty());
    // Params, mu and nu of 4 layers with 4 weights and 2 embeddings; step.
    EXPECT_EQ(roles.state_pairs.size(), 3 * 18 + 1);
    ASSERT_EQ(roles.parameters.size(), 3 * 18 + 3);
    EXPECT_EQ(roles.parameters[55].role, ParameterRole::kData);
    EXPECT_THAT(roles.parameters[55].name, HasSubstr("tokens"));
    EXPECT_EQ(roles.loss, 55);

    const ModuleSummary summary = Summarize(module, roles);
    EXPECT_EQ(summary.data_bytes, 2 * 2 * 5 * 4);
    const int64_t weights = 11 * 8 + 5 * 8 + 4 * (24 + 8 + 32 + 32) * 8;
    EXPECT_EQ(summary.state_bytes, 3 * 4 * weights + 4);
    EXPECT_EQ(summary.opcodes.at("sqrt"), 18);
    EXPECT_EQ(summary.instructions, module.instruction_count());
  }
}

}  // namespace
}  // namespace meshwright
