#include "meshwright/pipeline/stage_apply.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/analysis/small_step_for_test.h"
#include "meshwright/pipeline/stage_backward.h"

namespace meshwright {
namespace {

using ::testing::ElementsAre;

// Two weights, their gradients and moments, scaled by the norm of both.
struct Clipped : SmallStep {
  Clipped() {
    for (int i = 0; i < 2; ++i) {
      const std::string n = std::to_string(i);
      weights.push_back(Parameter("w" + n, 64));
      gradients.push_back(Parameter("g" + n, 64));
      moments.push_back(Parameter("m" + n, 64));
    }
    for (int i = 0; i < 2; ++i) {
      sums.push_back(Sum("sum" + std::to_string(i), gradients[i]));
    }
    norm = Binary(Opcode::kAdd, "norm", sums[0], sums[1]);
    for (int i = 0; i < 2; ++i) {
      const std::string n = std::to_string(i);
      Instruction* scaled = Binary(Opcode::kDivide, "scaled" + n, gradients[i],
                                   Broadcast("wide" + n, norm, 64));
      moved.push_back(Binary(Opcode::kAdd, "moved" + n, moments[i], scaled));
      next.push_back(
          Binary(Opcode::kSubtract, "next" + n, weights[i], moved[i]));
    }
    Return({next[0], moved[0], next[1], moved[1], norm});
  }

  std::vector<Instruction*> weights, gradients, moments, sums, moved, next;
  Instruction* norm;
};

TEST(PlaceApplyTest, WaitsForTheNormInRounds) {
  const Clipped step;
  const CutGraph graph = MakeCutGraph(*step.entry);
  // w and g are known, m is not.
  constexpr StageId kFirst{0}, kLast{1};
  const ApplyPlaces placed = PlaceApply(
      *step.entry, graph, {kFirst, kFirst, kNoStage, kLast, kLast, kNoStage},
      {0, 2, 3, 5, -1});
  EXPECT_THAT(placed.parameters, ElementsAre(0, 0, 0, 1, 1, 1));
  const auto at = [&](const Instruction* i) { return placed.places[i->id]; };
  EXPECT_EQ(at(step.sums[1]), (ApplyPlace{.round = 0, .stage = StageId(1)}));
  EXPECT_EQ(at(step.norm), (ApplyPlace{.round = 1, .stage = StageId(0)}));
  EXPECT_EQ(at(step.next[0]), (ApplyPlace{.round = 1, .stage = StageId(0)}));
  EXPECT_EQ(at(step.next[1]), (ApplyPlace{.round = 2, .stage = StageId(1)}));
}

TEST(OutputsLikeTest, FindsTheWeightsOfAGradient) {
  const Clipped step;
  const auto outputs = OutputsLike(*step.entry);
  EXPECT_THAT(outputs[1], ElementsAre(0, 1));  // g0: w0 and m0.
  EXPECT_THAT(outputs[4], ElementsAre(2, 3));  // g1
}

}  // namespace
}  // namespace meshwright
