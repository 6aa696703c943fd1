#include "meshwright/cost/op_time.h"

#include <array>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "meshwright/cost/instruction_time.h"
#include "meshwright/cost/module_for_test.h"
#include "meshwright/cost/rates_for_test.h"
#include "meshwright/hlo/read_text.h"

namespace meshwright {
namespace {

// Seconds of the root of a step of this ragged-dot.
double RaggedSeconds(const char* lhs, const char* rhs, int64_t groups,
                     const char* result, const char* numbers) {
  const absl::StatusOr<Module> module = ReadModuleText(absl::StrCat(
      "HloModule step\nENTRY main {\n  x = ", lhs, " parameter(0)\n  w = ", rhs,
      " parameter(1)\n  sizes = s32[", groups, "] parameter(2)\n  ROOT y = ",
      result, " ragged-dot(x, w, sizes), ", numbers, "\n}\n"));
  EXPECT_TRUE(module.ok()) << module.status();
  return InstructionSeconds(*module, SimpleRates(0), /*is_cpu=*/false,
                            1)[module->entry()->root()->id];
}

constexpr char kRows[] =
    "lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0}, "
    "rhs_group_dims={0}";
constexpr char kSums[] =
    "lhs_contracting_dims={0}, rhs_contracting_dims={0}, lhs_ragged_dims={0}";

// So few rows are one block for each group: 2 * 64 * 32 * 16 operations, and
// copies of [64,32], [32,16] and [64,16].
TEST(KernelSecondsTest, RaggedDotsAreComputedInBlocks) {
  constexpr double kOnce = 65536e-9 + 2 * 4 * (2048 + 512 + 1024) * 1e-9;
  for (const int64_t groups : {2, 4, 8}) {
    const double each = static_cast<double>(groups) * kOnce;
    EXPECT_NEAR(RaggedSeconds("f32[64,32]",
                              absl::StrCat("f32[", groups, ",32,16]").c_str(),
                              groups, "f32[64,16]", kRows),
                1e-6 + each, 1e-9);
    EXPECT_NEAR(
        RaggedSeconds("f32[64,32]", "f32[64,16]", groups,
                      absl::StrCat("f32[", groups, ",32,16]").c_str(), kSums),
        1e-6 + each, 1e-9);
  }
}

// 1 ms of arithmetic and 2 ms of reading.
TEST(KernelSecondsTest, KernelsThatHoldRowsReadFirst) {
  const Rates rates = SimpleRates(0);
  LocalWork local{.work = {.flops = 1e-3 * rates.vector_flops.value,
                           .bytes = 2e-3 * rates.memory.Last()}};
  EXPECT_NEAR(KernelSeconds(local, rates), 2e-3 + rates.op_seconds.value, 1e-9);
  local.holds_rows = true;
  EXPECT_NEAR(KernelSeconds(local, rates), 3e-3 + rates.op_seconds.value, 1e-9);
}

TEST(KernelSecondsTest, SumsOverColumnsTakeTheirStepsInTurn) {
  Rates rates = SimpleRates(0);
  rates.column_step_seconds.value = 1e-3;
  const LocalWork local{.work = {.bytes = 4}, .column_steps = 7};
  EXPECT_NEAR(KernelSeconds(local, rates), 7e-3 + rates.op_seconds.value, 1e-9);
  const KernelPart part{.local = local};
  EXPECT_NEAR(PartSeconds(part, rates), 7e-3 + rates.op_seconds.value, 1e-9);
}

TEST(KernelSecondsTest, TurningAFilterIsStridedTwice) {
  Rates rates = SimpleRates(0);
  rates.strided_share.value = 0.5;
  LocalWork local{.work = {.bytes = 1e-3 * rates.memory.Last()},
                  .strided = true};
  EXPECT_NEAR(KernelSeconds(local, rates), 2e-3 + rates.op_seconds.value, 1e-9);
  local.turns_filter = true;
  EXPECT_NEAR(KernelSeconds(local, rates), 4e-3 + rates.op_seconds.value, 1e-9);
}

TEST(KernelSecondsTest, UnalignedRowsAlsoLoadSlowly) {
  Rates rates = SimpleRates(0);
  rates.unaligned_share.value = 0.25;
  const LocalWork local{.work = {.bytes = 1e-3 * rates.memory.Last()},
                        .unaligned = true};
  EXPECT_NEAR(KernelSeconds(local, rates), 2e-3 + rates.op_seconds.value, 1e-9);
}

TEST(LocalWorkOfTest, ConvolutionsOfGroupsStartForEach) {
  Module module("m");
  BodyForTest body(module.AddComputation("main"));
  Instruction* x = body.Parameter(F32({2, 8, 4, 4}));
  Rates rates = SimpleRates(0);
  rates.convolution_seconds.value = 1e-3;
  for (const auto& [groups, channels, launches] :
       {std::array{0, 8, 1}, std::array{4, 2, 4}, std::array{8, 1, 1}}) {
    Instruction* filter = body.Parameter(F32({1, 1, channels, 8}));
    Instruction* y = body.Convolution(x, filter, F32({2, 4, 4, 8}));
    y->attributes.mutate().feature_group_count = groups;
    const LocalWork local = LocalWorkOf(
        *y, {}, {{2, 8, 4, 4}, filter->shape.dimensions, {2, 4, 4, 8}});
    EXPECT_EQ(local.launches, launches);
    EXPECT_NEAR(FusedSeconds(local, rates), launches * 1e-3, 1e-9);
  }
  // The gradient of a filter: of two channels, or of one.
  Instruction* filter = body.Parameter(F32({1, 1, 8, 4}));
  for (const auto& [batch, launches] : {std::array{8, 4}, std::array{4, 1}}) {
    Instruction* images = body.Parameter(F32({batch, 8, 4, 4}));
    Instruction* y = body.Convolution(images, filter, F32({2, 4, 4, 4}));
    y->attributes.mutate().batch_group_count = 4;
    const LocalWork local = LocalWorkOf(
        *y, {}, {images->shape.dimensions, {1, 1, 8, 4}, {2, 4, 4, 4}});
    EXPECT_EQ(local.launches, launches);
  }
}

TEST(LocalWorkOfTest, ADotHasItsLocalBatchAndTypes) {
  Module module("m");
  BodyForTest body(module.AddComputation("main"));
  Instruction* x = body.Parameter(F32({8, 16, 16}));
  Instruction* dot = body.Dot(x, x);
  dot->attributes.mutate().dot = DotDimensionNumbers{.lhs_contracting = {2},
                                                     .rhs_contracting = {1},
                                                     .lhs_batch = {0},
                                                     .rhs_batch = {0}};
  const LocalWork local =
      LocalWorkOf(*dot, {.flops = 7}, {{4, 16, 8}, {4, 8, 16}, {4, 16, 16}});
  EXPECT_EQ(local.unit, Unit::kContraction);
  EXPECT_EQ(local.work.flops, 7);
  EXPECT_EQ(local.batch, 4);
  EXPECT_FALSE(local.unaligned);
  // Rows of two floats.
  EXPECT_TRUE(
      LocalWorkOf(*dot, {}, {{4, 16, 8}, {4, 8, 2}, {4, 16, 2}}).unaligned);
  // Of bytes, 16 in a row are needed.
  dot->shape.element_type = ElementType::kS8;
  EXPECT_TRUE(
      LocalWorkOf(*dot, {}, {{4, 16, 8}, {4, 8, 8}, {4, 16, 8}}).unaligned);
}

TEST(PartSecondsTest, AContractionIsAKernelByItself) {
  const Rates rates = SimpleRates(0);
  const LocalWork dot{.unit = Unit::kContraction,
                      .work = {.flops = 1000, .bytes = 300}};
  EXPECT_EQ(PartSeconds({.local = dot}, rates), KernelSeconds(dot, rates));
  EXPECT_NEAR(PartSeconds({.local = dot, .is_start = false}, rates),
              KernelSeconds(dot, rates) - rates.op_seconds.value, 1e-15);
  // Copies are read and written.
  EXPECT_NEAR(PartSeconds({.local = dot, .scratch_bytes = 100}, rates),
              KernelSeconds(dot, rates) + 200e-9, 1e-15);
}

TEST(PartSecondsTest, WhatItsKernelWaitsForCounts) {
  const Rates rates = SimpleRates(0);
  KernelPart part{.local = {.work = {.flops = 100, .bytes = 300}},
                  .kernel = {.flops = 100, .bytes = 400},
                  .is_start = false};
  EXPECT_NEAR(PartSeconds(part, rates), 305e-9, 1e-15);
  part.kernel.flops = 500;  // Others compute more than all of them read.
  EXPECT_NEAR(PartSeconds(part, rates), 115e-9, 1e-15);
  part.kernels = 2;  // Computed in both.
  EXPECT_NEAR(PartSeconds(part, rates), 215e-9, 1e-15);
}

}  // namespace
}  // namespace meshwright
