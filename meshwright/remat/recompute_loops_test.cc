#include "meshwright/remat/recompute_loops.h"

#include <algorithm>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/hlo/inline_calls.h"
#include "meshwright/hlo/verify.h"
#include "meshwright/loops/counted_loop.h"
#include "meshwright/loops/small_loop_for_test.h"
#include "meshwright/remat/loop_residuals.h"
#include "meshwright/search/zoo_for_test.h"

namespace meshwright {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Kind = LoopElement::Kind;

std::vector<Instruction*> LoopsOf(const Module& module) {
  std::vector<Instruction*> loops;
  for (const auto& instruction : module.entry()->instructions()) {
    if (instruction->opcode == Opcode::kWhile)
      loops.push_back(instruction.get());
  }
  return loops;
}

// The shapes of what a loop writes slot by slot.
std::vector<std::string> Written(const Instruction& loop) {
  std::vector<std::string> shapes;
  const std::optional<CountedLoop> counted = AnalyzeLoop(loop);
  EXPECT_TRUE(counted.has_value()) << loop.name;
  for (size_t e = 0; counted.has_value() && e < counted->elements.size(); ++e) {
    const LoopElement& element = counted->elements[e];
    if (element.kind != Kind::kStacked || !element.is_written) continue;
    Shape shape = loop.shape.tuple_shapes[e];
    shape.layout.reset();
    shapes.push_back(shape.ToString());
  }
  return shapes;
}

int64_t Dots(const Instruction& loop) {
  return std::ranges::count_if(loop.called[0]->instructions(),
                               [](const auto& instruction) {
                                 return instruction->opcode == Opcode::kDot;
                               });
}

TEST(RecomputeLoops, ALayerLeavesWhatItStartsFrom) {
  Module step = ReadTinyInline("llama");
  const std::vector<Instruction*> before = LoopsOf(step);
  ASSERT_EQ(before.size(), 2u);
  EXPECT_EQ(Written(*before[0]).size(), 28u);
  const int64_t forward = Dots(*before[0]);
  const int64_t backward = Dots(*before[1]);
  const LoopsAgain again = RecomputeLoops(step, /*light=*/false);
  step.Finish();
  ASSERT_EQ(Verify(step), absl::OkStatus());
  EXPECT_GT(again.count, 0);
  EXPECT_THAT(again.notes, IsEmpty());
  const std::vector<Instruction*> after = LoopsOf(step);
  EXPECT_THAT(Written(*after[0]), ElementsAre("f32[2,8,64,64]"));
  EXPECT_EQ(Dots(*after[0]), forward);
  // The last contraction of a layer gives nothing that backward needs.
  EXPECT_EQ(Dots(*after[1]), backward + forward - 1);
}

// What nobody needs goes on the way, loops that were still to be looked at too.
TEST(RecomputeLoops, LoopsThatNobodyNeedsMayBeThere) {
  Module step = ReadTinyInline("llama");
  const Instruction& last = *LoopsOf(step).back();
  Computation& entry = *step.entry();
  Instruction* const root = entry.root();
  Instruction* const start = entry.Add(
      Opcode::kTuple, last.shape, last.operands[0]->operands, "unused_start");
  Instruction* const unused =
      entry.Add(Opcode::kWhile, last.shape, {start}, "unused");
  unused->called = last.called;
  entry.set_root(root);
  step.Finish();
  EXPECT_GT(RecomputeLoops(step, /*light=*/false).count, 0);
  step.Finish();
  EXPECT_EQ(Verify(step), absl::OkStatus());
  EXPECT_EQ(LoopsOf(step).size(), 2u);
}

TEST(RecomputeLoops, TheSameAgainIsNotWorthIt) {
  Module step = ReadTinyInline("gpt_scan");
  RecomputeLoops(step, /*light=*/false);
  step.Finish();
  const LoopsAgain again = RecomputeLoops(step, /*light=*/false);
  EXPECT_EQ(again.count, 0);
  ASSERT_EQ(again.notes.size(), 1u);
  EXPECT_THAT(again.notes[0],
              testing::HasSubstr("saves no more residuals than it has to"));
}

// One loop, and one that reads what it leaves.
std::vector<std::string> Notes(int32_t count, Way way) {
  SmallLoops step(count);
  Instruction* x = step.Parameter("x", {8});
  const auto up = step.Scan("up", x, step.Parameter("w", {count, 8}), Way::kUp);
  const auto other = step.Scan("other", x, up.stacked, way);
  step.Return({up.carried, other.carried});
  return RecomputeLoops(step.module, /*light=*/false).notes;
}

TEST(RecomputeLoops, SaysWhyLoopsStay) {
  EXPECT_THAT(Notes(4, Way::kDown),
              ElementsAre("loop 'up' saves no more residuals than it has to"));
  EXPECT_THAT(Notes(4, Way::kUp),
              ElementsAre("loop 'other' is no reverse scan over what loop 'up' "
                          "saves"));
  EXPECT_THAT(Notes(4, Way::kShifted),
              ElementsAre("loop 'other' is no reverse scan over what loop 'up' "
                          "saves"));
  EXPECT_THAT(Notes(1, Way::kDown), ElementsAre("loop 'up' runs once"));
}

TEST(RecomputeLoops, WhatOthersReadIsNoResidual) {
  SmallLoops step(4);
  Instruction* x = step.Parameter("x", {8});
  const auto up = step.Scan("up", x, step.Parameter("w", {4, 8}), Way::kUp);
  const auto down = step.Scan("down", x, up.stacked, Way::kDown);
  step.Return({up.stacked, down.carried});
  std::string why;
  const LoopResiduals found =
      FindResiduals(*step.module.entry(), *up.loop, why);
  ASSERT_EQ(found.residuals.size(), 1u);
  EXPECT_FALSE(found.residuals[0].is_only_read_back);
  EXPECT_FALSE(found.HasReaders());
}

}  // namespace
}  // namespace meshwright
