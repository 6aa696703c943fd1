#include "meshwright/profile/loop_program.h"

#include "gtest/gtest.h"
#include "meshwright/analysis/flops.h"
#include "meshwright/hlo/verify.h"
#include "meshwright/rules/collectives.h"

namespace meshwright {
namespace {

// A turn: a loop of unknown length counts as one.
Work WorkOf(const LoopProgram& loop) {
  const absl::Status status = Verify(loop.module);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(loop.module.entry()->Parameters().size(),
            loop.arguments.size() + 1);
  return ModuleWork(loop.module).total();
}

TEST(LoopProgramTest, DoWhatTheySay) {
  constexpr double kCount = 2;  // The counter and the condition.
  EXPECT_EQ(WorkOf(MatmulLoop(ElementType::kF32, 16)).flops,
            2 * 2.0 * 16 * 16 * 16 + kCount);
  EXPECT_EQ(WorkOf(MemoryLoop(100)).flops, 200 + kCount);
  EXPECT_EQ(WorkOf(EmptyLoop()).flops, 1 + kCount);
  EXPECT_EQ(WorkOf(LayersLoop(3)).transcendentals, 3 * 64 * 64);
  EXPECT_EQ(WorkOf(ArithmeticLoop(100)).flops, 100 * kArithmeticFlops + kCount);
  EXPECT_EQ(WorkOf(TanhLoop(100)).transcendentals, 100);
  EXPECT_EQ(WorkOf(TransposeLoop(4, 8)).flops, kCount);
  for (const bool transposed : {false, true}) {
    EXPECT_EQ(WorkOf(SumsLoop(4, 8, transposed, 1)).flops, kSums * 32 + kCount);
    EXPECT_EQ(CollectivesIn(SumsLoop(4, 8, transposed, 8).module, 8).size(),
              1u);
  }
  EXPECT_GT(WorkOf(SmallKernelLoop()).flops, 0);
  EXPECT_EQ(WorkOf(ArgumentProgram(3)).flops, 3 * 64);
  // But for what falls on padding.
  const double flops = WorkOf(ConvolutionLoop(4)).flops;
  EXPECT_LT(flops, ConvolutionFlops(4));
  EXPECT_GT(flops, 0.9 * ConvolutionFlops(4));
  for (const int64_t dilation : {1, 2}) {
    const double windows = WorkOf(WindowsLoop(4, dilation)).flops;
    EXPECT_LT(windows, WindowsFlops(4));
    EXPECT_GT(windows, 0.5 * WindowsFlops(4));
  }
}

TEST(LoopProgramTest, CollectivesOfEachKind) {
  for (const MoveKind kind :
       {MoveKind::kAllReduce, MoveKind::kReduceScatter, MoveKind::kAllGather,
        MoveKind::kAllToAll, MoveKind::kPermute}) {
    for (const int64_t group : {2, 4, 8}) {
      const LoopProgram loop = CollectiveLoop(kind, 64, group, 8);
      WorkOf(loop);
      const auto uses = CollectivesIn(loop.module, 8);
      ASSERT_EQ(uses.size(), 2u);
      for (const CollectiveUse& use : uses) {
        EXPECT_EQ(use.kind, Name(kind));
        EXPECT_EQ(use.bytes, 256);
        EXPECT_EQ(use.wire_bytes, WireBytes(kind, group, 256)) << group;
      }
    }
  }
}

TEST(LoopProgramTest, OneCollectiveOfSeveralArrays) {
  const LoopProgram loop = ArraysLoop(3, 64, 8);
  WorkOf(loop);
  const auto uses = CollectivesIn(loop.module, 8);
  ASSERT_EQ(uses.size(), 1u);
  EXPECT_EQ(uses[0].bytes, 3 * 256);
}

}  // namespace
}  // namespace meshwright
