#include "meshwright/remat/recompute.h"

#include <algorithm>
#include <map>
#include <string>

#include "gtest/gtest.h"
#include "meshwright/analysis/roles.h"
#include "meshwright/hlo/inline_calls.h"
#include "meshwright/hlo/verify.h"
#include "meshwright/remat/forward_segments.h"
#include "meshwright/search/memory_points.h"
#include "meshwright/search/step_model.h"
#include "meshwright/search/zoo_for_test.h"

namespace meshwright {
namespace {

int64_t Count(const Module& module, Opcode opcode) {
  return std::ranges::count_if(
      module.entry()->instructions(),
      [&](const auto& instruction) { return instruction->opcode == opcode; });
}

// In loops, too.
int64_t Barriers(const Module& module) {
  int64_t count = 0;
  for (const auto& computation : module.computations()) {
    for (const auto& instruction : computation->instructions()) {
      count += instruction->opcode == Opcode::kOptBarrier;
    }
  }
  return count;
}

double Rest(const Module& module) {
  // Merged kernels hold all they read until they are done, which in steps as
  // small as these outweighs what is not kept.
  FusionStyle style = FusionStyleFor(/*cpu=*/false);
  style.fuses_rows = false;
  return LeastMemory(ModelStep(module, style)).rest;
}

class RecomputeTest : public testing::TestWithParam<const char*> {};

TEST_P(RecomputeTest, TakesLessMemoryTheMoreItComputesAgain) {
  const Module step = ReadTinyInline(GetParam());
  const auto light = RecomputeForward(step, Recompute::kSelective);
  const auto full = RecomputeForward(step, Recompute::kFull);
  ASSERT_TRUE(light.ok()) << light.status();
  ASSERT_TRUE(full.ok()) << full.status();
  EXPECT_TRUE(Verify(*full).ok());
  EXPECT_GT(Barriers(*full), 0);
  EXPECT_LT(Rest(*light), Rest(step));
  EXPECT_LE(Rest(*full), 1.001 * Rest(*light));
}

INSTANTIATE_TEST_SUITE_P(Zoo, RecomputeTest,
                         testing::Values("gpt", "bert", "vit", "unet",
                                         "wide_resnet", "moe", "gpt_scan",
                                         "llama"),
                         [](const auto& test) { return test.param; });

// Two layers of six contractions; what the last one gives is not needed.
TEST(Recompute, RepeatedLayersAreSegments) {
  const Module step = ReadTinyInline("gpt");
  const ForwardSegments segments = SegmentForward(step, AnalyzeRoles(step));
  std::map<int32_t, int64_t> contractions;
  for (const auto& instruction : step.entry()->instructions()) {
    if (instruction->opcode != Opcode::kDot) continue;
    ++contractions[segments.segment_of[instruction->id]];
  }
  // Before the layers, the layers, and the head.
  ASSERT_EQ(segments.count, 4);
  EXPECT_EQ(contractions[0], 0);
  EXPECT_EQ(contractions[1], 6);
  EXPECT_EQ(contractions[2], 6);
  EXPECT_EQ(contractions[3], 1);
  const auto full = RecomputeForward(step, Recompute::kFull);
  ASSERT_TRUE(full.ok()) << full.status();
  const int64_t again = Count(*full, Opcode::kDot) - Count(step, Opcode::kDot);
  EXPECT_GE(again, 10);
  EXPECT_LE(again, 12);
}

// Copies wait for the gradient: no barrier comes before the loss is known.
TEST(Recompute, CopiesComeWithTheBackwardPass) {
  const auto full = RecomputeForward(ReadTinyInline("gpt"), Recompute::kFull);
  ASSERT_TRUE(full.ok()) << full.status();
  const ModuleRoles roles = AnalyzeRoles(*full);
  const Computation& entry = *full->entry();
  const int32_t loss = entry.root()->operands[*roles.loss]->id;
  for (const auto& instruction : entry.instructions()) {
    if (instruction->opcode != Opcode::kOptBarrier) continue;
    EXPECT_GT(instruction->id, loss) << instruction->name;
  }
}

TEST(Recompute, TheSameEveryTime) {
  const Module step = ReadTinyInline("unet");
  const auto one = RecomputeForward(step, Recompute::kSelective);
  const auto two = RecomputeForward(step, Recompute::kSelective);
  ASSERT_TRUE(one.ok() && two.ok());
  ASSERT_EQ(one->entry()->size(), two->entry()->size());
  for (int32_t id = 0; id < one->entry()->size(); ++id) {
    EXPECT_EQ(one->entry()->instruction(id)->name,
              two->entry()->instruction(id)->name);
  }
}

TEST(Recompute, Names) {
  EXPECT_EQ(*ParseRecompute("selective"), Recompute::kSelective);
  EXPECT_EQ(*ParseRecompute("light"), Recompute::kSelective);
  EXPECT_EQ(Name(Recompute::kSelective), "selective");
  EXPECT_EQ(ParseRecompute("some").status().message(),
            "--recompute is none, selective or full, not 'some'");
}

}  // namespace
}  // namespace meshwright
