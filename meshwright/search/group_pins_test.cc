#include "meshwright/search/group_pins.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/annotations/sharding_file.h"
#include "meshwright/mesh/sharding_text.h"
#include "meshwright/partition/partition.h"
#include "meshwright/search/layers_for_test.h"
#include "meshwright/search/plan_mesh.h"
#include "meshwright/search/zoo_for_test.h"

namespace meshwright {
namespace {

using ::testing::HasSubstr;

// "[a, ?]" for an array.
Annotation Asked(std::string text, const Shape& shape, const Mesh& mesh) {
  std::vector<bool> free = TakeFree(text, shape.dimensions.size());
  return {*ParseSharding(text, shape.dimensions, mesh), std::move(free)};
}

// Pins by name of a parameter or instruction of the entry.
MeshPins PinsOn(const Module& module, const char* mesh,
                const std::vector<std::pair<std::string, std::string>>& texts) {
  MeshPins pins{.mesh = *Mesh::Parse(mesh)};
  pins.given.parameters.resize(module.entry()->Parameters().size());
  for (const auto& [name, text] : texts) {
    for (const auto& instruction : module.entry()->instructions()) {
      if (instruction->name != name) continue;
      Annotation asked = Asked(text, instruction->shape, pins.mesh);
      if (instruction->opcode == Opcode::kParameter) {
        pins.given.parameters[instruction->attributes->parameter_number] =
            asked;
      } else {
        pins.given.instructions[instruction.get()] = asked;
      }
    }
  }
  return pins;
}

GroupId GroupOf(const StepModel& model, const std::string& name) {
  for (size_t i = 0; i < model.graph.ops.size(); ++i) {
    if (model.graph.ops[i].live && model.graph.ops[i].instruction->name == name)
      return model.groups.group_of[i];
  }
  return kNoGroup;
}

TEST(GroupPins, APinConcernsWhatItNamesOnly) {
  const Module module = Layers(80, 8, 16);
  const MeshPins pins = PinsOn(module, "a=2", {{"w40", "[a, -]"}});
  const StepModel free = ModelStep(module, FusionStyleFor(true));
  const StepModel model = ModelStep(module, FusionStyleFor(true), &pins);
  EXPECT_EQ(GroupOf(free, "w40"), GroupOf(free, "w50"));
  EXPECT_NE(GroupOf(model, "w40"), GroupOf(model, "w50"));
  const GroupPins pinned = *PinnedGroups(model, pins.given, pins.mesh);
  ASSERT_EQ(pinned.size(), 1u);
  EXPECT_EQ(pinned.begin()->first, GroupOf(model, "w40"));
  EXPECT_EQ(model.groups.members[pinned.begin()->first].size(), 1u);
}

TEST(GroupPins, EqualPinsOfAlikeOpsStayTogether) {
  const Module module = Layers(80, 8, 16);
  std::vector<std::pair<std::string, std::string>> all;
  for (int i = 0; i < 80; ++i) {
    all.emplace_back("w" + std::to_string(i), "[a, -]");
  }
  const MeshPins pins = PinsOn(module, "a=2", all);
  const StepModel model = ModelStep(module, FusionStyleFor(true), &pins);
  EXPECT_EQ(model.groups.count(),
            ModelStep(module, FusionStyleFor(true)).groups.count());
}

struct PinCase {
  std::string name;
  std::string of;
  std::string text;
  int64_t width = 16;
};

class KeptPins : public ::testing::TestWithParam<PinCase> {};

// Whatever partition can do, a plan can.
TEST_P(KeptPins, ArePlannedAndLower) {
  const PinCase& one = GetParam();
  const Module module = Layers(3, 8, one.width);
  const char* const mesh = "a=2,b=4";
  const MeshPins pins = PinsOn(module, mesh, {{one.of, one.text}});
  const absl::StatusOr<Partitioned> oracle =
      Partition(module, pins.mesh, pins.given);
  ASSERT_TRUE(oracle.ok()) << oracle.status();
  const StepModel model = ModelStep(module, FusionStyleFor(true), &pins);
  MeshTask task = TaskOn(mesh);
  task.requirements.pins = *PinnedGroups(model, pins.given, pins.mesh);
  for (const bool sketch : {false, true}) {
    const absl::StatusOr<MeshPlan> plan =
        sketch ? SketchMesh(model, task) : PlanMesh(model, task);
    ASSERT_TRUE(plan.ok()) << plan.status();
    Resharder resharder(&task.mesh, task.prices);
    const absl::StatusOr<Partitioned> split = PartitionAs(
        module, task.mesh, model.graph, plan->assignment, resharder);
    ASSERT_TRUE(split.ok()) << split.status();
    const GroupId group = GroupOf(model, one.of);
    const OpId op = model.groups.members[group][0];
    const Sharding got =
        ResultSharding(plan->assignment.rules[op],
                       plan->assignment.strategies[op], 0, task.mesh);
    if (one.text.find('?') == std::string::npos) {
      EXPECT_EQ(ToString(got, task.mesh), one.text);
    } else {
      EXPECT_EQ(AxesOf(got.dims[1]), task.mesh.SubAxes(1));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Table, KeptPins,
                         testing::ValuesIn<PinCase>({
                             {"FirstAxis", "w1", "[a, -]"},
                             {"SecondAxis", "w1", "[-, b]"},
                             {"BothAxes", "w1", "[b, a]"},
                             {"FusedAxes", "w1", "[(a,b), -]"},
                             {"FusedInAnotherOrder", "w1", "[-, (b,a)]"},
                             {"PartOfAnAxis", "w1", "[b:(2)2, -]"},
                             {"Strided", "w1", "[-, 4:- 4:b]"},
                             {"PaddedALot", "w1", "[b, -]", 10},
                             {"Partial", "w1", "[?, b]"},
                             {"Instruction", "dot1", "[-, b]"},
                             {"InstructionInAnotherOrder", "tanh1",
                              "[(b,a), -]"},
                         }),
                         [](const auto& test) { return test.param.name; });

TEST(GroupPins, ContradictionsAreNamed) {
  const Module module = Layers(2, 8, 16);
  MeshPins pins = PinsOn(module, "a=2", {{"w1", "[a, -]"}});
  const Instruction* w1 = module.entry()->Parameters()[2];
  pins.given.instructions[w1] = Asked("[-, a]", w1->shape, pins.mesh);
  const StepModel model = ModelStep(module, FusionStyleFor(true), &pins);
  EXPECT_THAT(
      std::string(
          PinnedGroups(model, pins.given, pins.mesh).status().message()),
      HasSubstr("w1 is pinned to [-, a], w1 to [a, -]; they are one tensor"));
}

// On any axis, with what belongs to it: its next value, and the other layers as
// they would be.
TEST(GroupPins, OfStateOnAnyAxis) {
  const Module module = ReadTiny("gpt");
  const ModuleRoles roles = AnalyzeRoles(module);
  for (const char* text : {"[data, -]", "[-, model]", "[?, model]",
                           "[model, ?]", "[(model,data), -]"}) {
    MeshPins pins{.mesh = *Mesh::Parse("data=4,model=2")};
    pins.given.parameters.resize(roles.parameters.size());
    for (size_t i = 0; i < roles.parameters.size(); ++i) {
      if (roles.parameters[i].name == "state/params/blocks/0/attention/qkv/w") {
        pins.given.parameters[i] =
            Asked(text, module.entry()->Parameters()[i]->shape, pins.mesh);
      }
    }
    const StepModel model = ModelStep(module, FusionStyleFor(true), &pins);
    MeshTask task = TaskOn("data=4,model=2");
    task.memory_limit = int64_t{1} << 30;
    task.requirements.pins = *PinnedGroups(model, pins.given, pins.mesh);
    EXPECT_EQ(task.requirements.pins.size(), 2u);  // And its next value.
    const absl::StatusOr<MeshPlan> plan = SketchMesh(model, task);
    EXPECT_TRUE(plan.ok()) << text << " " << plan.status();
  }
}

}  // namespace
}  // namespace meshwright
