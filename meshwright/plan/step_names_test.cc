#include "meshwright/plan/step_names.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/hlo/read_text.h"

namespace meshwright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class StepNamesTest : public testing::Test {
 protected:
  StepNamesTest()
      : module_(*ReadModuleText(R"(HloModule m
ENTRY main {
  x = f32[8,4] parameter(0)
  w = f32[4,2] parameter(1)
  y = f32[8,2] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT z = f32[8,2] negate(y)
})")),
        graph_(Flatten(module_)),
        mesh_(*Mesh::Parse("data=2")) {
    assignment_.rules = RulesOf(graph_);
    for (const Rule& rule : assignment_.rules) {
      assignment_.strategies.push_back(ReplicatedStrategy(rule));
    }
    // The dot's rows.
    const OpId dot = graph_.values[2].producer;
    assignment_.strategies[dot].factor_axes[0] = mesh_.SubAxes(0);
    assignment_.sharing.assign(graph_.values.size(), Sharing::kOnce);
    assignment_.sharing[1] = Sharing::kApart;
    assignment_.sharing[2] = Sharing::kInPlace;
    SetAssignment(graph_, assignment_, layout_);
  }

  std::string Refusal() const {
    return std::string(
        AssignmentOf(layout_, graph_, assignment_.rules).status().message());
  }

  const Module module_;
  const FlatGraph graph_;
  const Mesh mesh_;
  Assignment assignment_;
  PlannedLayout layout_{.mesh = mesh_};
};

TEST_F(StepNamesTest, LayoutsHaveNames) {
  std::vector<std::string> names;
  for (const auto& one : layout_.strategies) names.push_back(one.operation);
  EXPECT_THAT(names, ElementsAre("x", "w", "y", "z", "output[0]"));
  EXPECT_THAT(layout_.moved_apart, ElementsAre("w"));
  EXPECT_THAT(layout_.moved_in_place, ElementsAre("y"));
}

TEST_F(StepNamesTest, OrderDoesNotMatter) {
  std::reverse(layout_.strategies.begin(), layout_.strategies.end());
  const absl::StatusOr<Assignment> read =
      AssignmentOf(layout_, graph_, assignment_.rules);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->strategies, assignment_.strategies);
  EXPECT_EQ(read->sharing, assignment_.sharing);
}

TEST_F(StepNamesTest, RefusesWhatTheStepDoesNotHave) {
  layout_.strategies[2].operation = "dot.7";
  EXPECT_THAT(Refusal(), HasSubstr("a strategy for dot.7, which the step does "
                                   "not have"));
  layout_.strategies.erase(layout_.strategies.begin() + 2);
  EXPECT_THAT(Refusal(), HasSubstr("no strategy for y"));
}

TEST_F(StepNamesTest, RefusesTwoStrategies) {
  layout_.strategies.push_back(layout_.strategies[0]);
  EXPECT_THAT(Refusal(), HasSubstr("two strategies for x"));
}

TEST_F(StepNamesTest, RefusesStrategiesOfOtherRules) {
  layout_.strategies[2].strategy.factor_axes.pop_back();
  EXPECT_THAT(Refusal(), HasSubstr("strategy for y does not fit it"));
}

TEST_F(StepNamesTest, StagesHaveNames) {
  PlannedPipeline pipeline;
  const std::vector<StageId> stage_of = {StageId(0), kNoStage, StageId(1),
                                         StageId(0)};
  pipeline.forward = ForwardByStage(*module_.entry(), stage_of, 2);
  EXPECT_THAT(pipeline.forward,
              ElementsAre(ElementsAre("x", "z"), ElementsAre("y")));
  EXPECT_EQ(*StagesOf(pipeline, *module_.entry()), stage_of);
  pipeline.forward[0].push_back("y");
  EXPECT_THAT(
      std::string(StagesOf(pipeline, *module_.entry()).status().message()),
      HasSubstr("two stages for y"));
  pipeline.forward[0].back() = "dot.7";
  EXPECT_THAT(
      std::string(StagesOf(pipeline, *module_.entry()).status().message()),
      HasSubstr("a stage for dot.7, which a micro-batch does not have"));
}

}  // namespace
}  // namespace meshwright
