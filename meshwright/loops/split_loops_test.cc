#include "meshwright/loops/split_loops.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/hlo/trip_count.h"
#include "meshwright/loops/small_loop_for_test.h"

namespace meshwright {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Layers up, their gradients down, and w = w + m, m = m + (what the loops
// wrote).
struct Step : SmallLoops {
  explicit Step(int32_t loop_count) : SmallLoops(loop_count) {
    Instruction* x = Parameter("x", {8});
    Instruction* w = Parameter("w", {count, 8});
    Instruction* m = Parameter("m", {count, 8});
    const Results up = Scan("up", x, w, Way::kUp);
    const Results down = Scan("down", up.carried, up.stacked, Way::kDown);
    Instruction* new_m = Binary(Opcode::kAdd, "new_m", m, down.stacked);
    Instruction* new_w = Binary(Opcode::kAdd, "new_w", w, new_m);
    Return({new_w, new_m, down.carried, up.stacked});
  }

  SplitStep Split(std::vector<int64_t> at, std::vector<bool> may_split) {
    absl::StatusOr<SplitStep> split =
        SplitLoops(module, {.at = {{"up", std::move(at)}},
                            .may_split = std::move(may_split),
                            .state = {{1, 0}, {2, 1}}});
    EXPECT_TRUE(split.ok()) << split.status();
    return *std::move(split);
  }
};

std::vector<int64_t> TripCounts(const Module& module) {
  std::vector<int64_t> counts;
  for (const auto& instruction : module.entry()->instructions()) {
    if (instruction->opcode == Opcode::kWhile) {
      counts.push_back(TripCount(*instruction).value_or(-1));
    }
  }
  return counts;
}

int CountOf(const Module& module, Opcode opcode) {
  int count = 0;
  for (const auto& instruction : module.entry()->instructions()) {
    count += instruction->opcode == opcode ? 1 : 0;
  }
  return count;
}

TEST(SplitLoopsTest, SplitsLoopsStateAndOutputs) {
  Step step(6);
  const SplitStep split = step.Split({2}, {false, true, true});
  EXPECT_THAT(TripCounts(split.module), ElementsAre(2, 4, 4, 2));
  const TensorParts w{.first = 1, .bounds = {0, 2, 6}};
  EXPECT_EQ(split.parameters[0], TensorParts{.first = 0});
  EXPECT_EQ(split.parameters[1], w);
  EXPECT_EQ(split.parameters[2].first, 3);
  EXPECT_EQ(split.parameters[2].bounds, w.bounds);
  EXPECT_EQ(split.outputs[0].bounds, w.bounds);
  EXPECT_EQ(split.outputs[1].first, 2);
  EXPECT_EQ(split.outputs[1].bounds, w.bounds);
  EXPECT_EQ(split.outputs[2], TensorParts{.first = 4});
  EXPECT_EQ(split.outputs[3], TensorParts{.first = 5});
  const std::vector<Instruction*> parameters =
      split.module.entry()->Parameters();
  ASSERT_EQ(parameters.size(), 5u);
  EXPECT_THAT(parameters[1]->shape.dimensions, ElementsAre(2, 8));
  EXPECT_THAT(parameters[2]->shape.dimensions, ElementsAre(4, 8));
  // The last output alone is put together; the updates are done by part.
  EXPECT_EQ(CountOf(split.module, Opcode::kConcatenate), 1);
  EXPECT_EQ(CountOf(split.module, Opcode::kSlice), 0);
  EXPECT_EQ(CountOf(split.module, Opcode::kAdd), 4);
}

TEST(SplitLoopsTest, OneIterationIsNoLoop) {
  Step step(3);
  const SplitStep split = step.Split({1, 2}, {false, true, true});
  EXPECT_THAT(TripCounts(split.module), IsEmpty());
  EXPECT_EQ(CountOf(split.module, Opcode::kMultiply), 6);
  EXPECT_EQ(CountOf(split.module, Opcode::kDynamicSlice), 0);
  // What the way back does again stays apart from the way there.
  EXPECT_EQ(CountOf(split.module, Opcode::kOptBarrier), 3);
}

// Loops are split all the same; each reads a slice.
TEST(SplitLoopsTest, DataStaysWhole) {
  Step step(6);
  const SplitStep split = step.Split({3}, {false, false, false});
  EXPECT_THAT(TripCounts(split.module), ElementsAre(3, 3, 3, 3));
  for (const TensorParts& parameter : split.parameters) {
    EXPECT_THAT(parameter.bounds, IsEmpty());
  }
  EXPECT_GE(CountOf(split.module, Opcode::kSlice), 2);
}

TEST(SplitLoopsTest, NamesGoOnToParts) {
  Step step(4);
  step.module.entry()->Parameters()[1]->frontend_attributes = {
      {"mw.name", "weights"}, {"mw.role", "state"}};
  step.module.frontend_attributes = {
      {"mw.outputs", R"(["weights","momentum","loss","ys"])"},
      {"mw.loss", "2"}};
  step.module.aliases = {{.output_index = {0}, .parameter_number = 1}};
  const SplitStep split = step.Split({1}, {false, true, true});
  const Instruction& part = *split.module.entry()->Parameters()[2];
  EXPECT_EQ(part.frontend_attributes.at("mw.name"), "weights[1:4]");
  EXPECT_EQ(part.frontend_attributes.at("mw.role"), "state");
  EXPECT_EQ(split.module.frontend_attributes.at("mw.outputs"),
            R"(["weights[0:1]","weights[1:4]","momentum[0:1]",)"
            R"("momentum[1:4]","loss","ys"])");
  EXPECT_EQ(split.module.frontend_attributes.at("mw.loss"), "4");
  ASSERT_EQ(split.module.aliases.size(), 2u);
  EXPECT_EQ(split.module.aliases[1].parameter_number, 2);
  EXPECT_THAT(split.module.aliases[1].output_index, ElementsAre(1));
}

}  // namespace
}  // namespace meshwright
