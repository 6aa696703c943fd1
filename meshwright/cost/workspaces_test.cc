#include "meshwright/cost/workspaces.h"

#include "gtest/gtest.h"
#include "meshwright/cost/attention_step_for_test.h"
#include "meshwright/cost/kernels.h"
#include "meshwright/cost/module_for_test.h"
#include "meshwright/cost/program_memory.h"

namespace meshwright {
namespace {

constexpr int64_t kMatmulBytes = 32 << 20;

int64_t BytesOf(const Instruction& instruction) {
  return WorkspaceBytes(instruction, SizesOf(instruction));
}

TEST(WorkspaceBytesTest, AttentionBackwardKeepsGradientsOfQueriesInF32) {
  const AttentionStepForTest whole(8, 1024, 16, 1);
  const int64_t rows = 8 * 16 * 1024;
  EXPECT_EQ(BytesOf(*whole.call), 4 * rows + 4 * rows * 64);
}

TEST(WorkspaceBytesTest, SharedKeyHeadsHaveGradientsForEachQueryHead) {
  const AttentionStepForTest whole(8, 1024, 16, 4);
  const int64_t rows = 8 * 16 * 1024;
  EXPECT_EQ(BytesOf(*whole.call),
            4 * rows + 4 * rows * 64 + 2 * rows * (64 + 64));
}

TEST(WorkspaceBytesTest, ADeviceNeedsThatOfItsPart) {
  const AttentionStepForTest whole(8, 1024, 16, 2);
  const AttentionStepForTest part(2, 1024, 8, 2);
  EXPECT_EQ(WorkspaceBytes(*whole.call, SizesOf(*part.call)),
            BytesOf(*part.call));
  EXPECT_EQ(BytesOf(*whole.call), 8 * BytesOf(*part.call));
}

// What XLA's program of these sizes asks for on an H200, but for 256 bytes.
TEST(WorkspaceBytesTest, AsCudnnWants) {
  EXPECT_EQ(BytesOf(*AttentionStepForTest(4, 2048, 16, 1).call),
            34078976 - 256);
}

// While its kernel runs, and on accelerators.
TEST(WorkspaceBytesTest, CountInPeaks) {
  const AttentionStepForTest whole(8, 1024, 16, 1);
  const auto temporaries = [&](bool cpu) {
    const FusionStyle style = FusionStyleFor(cpu);
    return EstimateMemory(
               whole.module,
               KernelsOf(whole.module, ModuleWork(whole.module), style), style)
        .temporaries;
  };
  EXPECT_EQ(temporaries(false), temporaries(true) + BytesOf(*whole.call));
}

// cuBLAS has one workspace for all calls; small ones are XLA's own kernels.
TEST(WorkspaceBytesTest, LargeContractionsShareOne) {
  const auto temporaries = [](int64_t size, int dots) {
    Module module("m");
    BodyForTest body(module.AddComputation("main"));
    Instruction* x =
        body.Parameter(Shape::Array(ElementType::kBF16, {size, size}));
    Instruction* value = x;
    for (int i = 0; i < dots; ++i) value = body.Dot(value, x);
    body.Tuple({value});
    module.set_entry(body.computation());
    module.Finish();
    const FusionStyle style = FusionStyleFor(/*cpu=*/false);
    return EstimateMemory(module, KernelsOf(module, ModuleWork(module), style),
                          style)
        .temporaries;
  };
  EXPECT_EQ(temporaries(4096, 1), kMatmulBytes);
  EXPECT_EQ(temporaries(4096, 2), kMatmulBytes + 2 * 4096 * 4096);
  EXPECT_EQ(temporaries(256, 1), 0);
}

}  // namespace
}  // namespace meshwright
