#include "meshwright/cost/merge_kernels.h"

#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/cost/module_for_test.h"
#include "meshwright/cost/program_memory.h"

namespace meshwright {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

class MergeKernelsTest : public ::testing::Test {
 protected:
  // Checks that kernels read what kernels before them made.
  std::vector<Kernel> Kernels() {
    module_.set_entry(body_.computation());
    module_.Finish();
    auto kernels = KernelsOf(*module_.entry(), ModuleWork(module_),
                             FusionStyleFor(/*cpu=*/false));
    std::set<const Instruction*> made;
    for (const Kernel& kernel : kernels) {
      for (const Instruction* input : kernel.inputs) {
        const bool given = input->opcode == Opcode::kParameter ||
                           input->opcode == Opcode::kConstant;
        EXPECT_TRUE(given || made.contains(input)) << input->name;
      }
      made.insert(kernel.root);
      made.insert(kernel.more_results.begin(), kernel.more_results.end());
    }
    return kernels;
  }

  Instruction* Binary(Opcode opcode, Instruction* a, Instruction* b) {
    return body_.Add(opcode, a->shape, {a, b});
  }

  Instruction* Transpose(Instruction* x) {
    Instruction* made = body_.Add(Opcode::kTranspose, x->shape, {x});
    made->attributes.mutate().dimensions = {1, 0};
    return made;
  }

  const Shape shape_ = F32({16, 16});
  static constexpr double kBytes = 4 * 16 * 16;
  Module module_{"m"};
  BodyForTest body_{module_.AddComputation("main")};
};

// mu2 = mu + g; nu2 = nu + g g; w2 = w - mu2 / sqrt(nu2 * scale)
class AdamTest : public MergeKernelsTest {
 protected:
  // `scale` is made between the moments and the weights.
  void SetUp() override {
    Instruction* w = body_.Parameter(shape_);
    Instruction* mu = body_.Parameter(shape_);
    Instruction* nu = body_.Parameter(shape_);
    Instruction* g = body_.Parameter(shape_);
    Instruction* count = body_.Parameter(F32({}));
    mu2_ = Binary(Opcode::kAdd, mu, g);
    nu2_ = Binary(Opcode::kAdd, nu, Binary(Opcode::kMultiply, g, g));
    Instruction* next = body_.Add(Opcode::kNegate, F32({}), {count});
    Instruction* scale =
        body_.Add(Opcode::kCustomCall, F32({}), {next});  // A kernel.
    Instruction* scaled =
        Binary(Opcode::kMultiply, nu2_, body_.Broadcast(scale, shape_, {}));
    Instruction* root = body_.Add(Opcode::kSqrt, shape_, {scaled});
    w2_ = Binary(Opcode::kSubtract, w, Binary(Opcode::kDivide, mu2_, root));
    body_.Tuple({w2_, mu2_, nu2_, next});
  }

  Instruction *mu2_, *nu2_, *w2_;
};

TEST_F(AdamTest, IsOneKernelWithThreeResults) {
  const auto kernels = Kernels();
  const Kernel& adam = kernels.back();
  EXPECT_EQ(adam.root, w2_);  // It waits for the scale.
  EXPECT_THAT(adam.more_results, UnorderedElementsAre(mu2_, nu2_));
  EXPECT_EQ(kernels.size(), 3u);
  // Four arrays and a scalar in, three arrays out.
  EXPECT_EQ(adam.work.bytes, 7 * kBytes + 4);
  EXPECT_EQ(adam.in_place.size(), 4u);
}

TEST_F(AdamTest, ResultsTakeTheMemoryOfWhatTheyReplace) {
  for (int64_t i = 0; i < 3; ++i) {
    module_.aliases.push_back({.output_index = {i}, .parameter_number = i});
  }
  Kernels();
  const FusionStyle style = FusionStyleFor(false);
  const ProgramBytes bytes = EstimateMemory(
      module_, KernelsOf(module_, ModuleWork(module_), style), style);
  EXPECT_EQ(bytes.temporaries, 4);  // The scale.
}

TEST_F(MergeKernelsTest, SiblingsReadOnce) {
  Instruction* x = body_.Parameter(shape_);
  Instruction* a = body_.Add(Opcode::kTanh, shape_, {x});
  Instruction* b = body_.Add(Opcode::kNegate, shape_, {x});
  body_.Tuple({a, b});
  const auto kernels = Kernels();
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_THAT(kernels[0].inputs, ElementsAre(x));
  EXPECT_EQ(kernels[0].work.bytes, 3 * kBytes);
}

// As the loss and the gradient of logits do.
TEST_F(MergeKernelsTest, SumsOfLongRowsGoAlong) {
  Instruction* x = body_.Parameter(F32({4, 50000}));
  Instruction* a = body_.Add(Opcode::kNegate, x->shape, {x});
  Instruction* sum = body_.Reduce(x, AdderForTest(module_));
  body_.Tuple({a, sum});
  const auto kernels = Kernels();
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_THAT(kernels[0].inputs, ::testing::Contains(x));
}

// b reads x as a does, but needs what a dot makes of a.
TEST_F(MergeKernelsTest, NothingRunsInTheMiddleOfAKernel) {
  Instruction* x = body_.Parameter(shape_);
  Instruction* a = body_.Add(Opcode::kTanh, shape_, {x});
  Instruction* dot = body_.Dot(a, x);
  Instruction* b = Binary(Opcode::kAdd, x, dot);
  body_.Tuple({a, b});
  EXPECT_EQ(Kernels().size(), 3u);
}

// The dot waits for a; b needs nothing that is made after it.
TEST_F(MergeKernelsTest, WhatComesLaterJoinsIfItCan) {
  Instruction* x = body_.Parameter(shape_);
  Instruction* a = body_.Add(Opcode::kTanh, shape_, {x});
  Instruction* dot = body_.Dot(a, x);
  Instruction* b = body_.Add(Opcode::kNegate, shape_, {x});
  body_.Tuple({dot, b});
  const auto kernels = Kernels();
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].root, a);
  EXPECT_THAT(kernels[0].more_results, ElementsAre(b));
}

TEST_F(MergeKernelsTest, WhatIsReadInAnotherOrderIsMadeBefore) {
  Instruction* x = body_.Parameter(shape_);
  Instruction* a = body_.Add(Opcode::kTanh, shape_, {x});
  Instruction* b = Binary(Opcode::kAdd, x, Transpose(a));
  Instruction* less = body_.Add(Opcode::kNegate, shape_, {a});
  Instruction* c = Binary(Opcode::kAdd, less, Transpose(less));
  body_.Tuple({a, b, c});
  const auto kernels = Kernels();
  EXPECT_EQ(kernels[0].root, a);
  EXPECT_TRUE(kernels[0].more_results.empty());
}

TEST_F(MergeKernelsTest, ASumOfColumnsIsMadeOnTheWay) {
  Computation* adder = AdderForTest(module_);
  Instruction* x = body_.Parameter(shape_);
  Instruction* y = body_.Parameter(shape_);
  Instruction* a = Binary(Opcode::kMultiply, x, y);
  Instruction* sum = body_.Reduce(a, adder);
  sum->attributes.mutate().dimensions = {0};
  body_.Tuple({a, sum});
  const auto kernels = Kernels();
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].work.bytes, 3 * kBytes + 4 * 16);
}

TEST_F(MergeKernelsTest, RowsOfOneElementMakeNoDifference) {
  Computation* adder = AdderForTest(module_);
  Instruction* x = body_.Parameter(F32({16, 1}));
  Instruction* same = body_.Reduce(x, adder);
  Instruction* a = body_.Add(Opcode::kTanh, F32({16}), {same});
  Instruction* b = body_.Add(Opcode::kNegate, F32({16}), {same});
  body_.Tuple({a, b});
  EXPECT_EQ(Kernels().size(), 1u);
}

TEST_F(MergeKernelsTest, CpusMergeNothing) {
  Instruction* x = body_.Parameter(shape_);
  Instruction* a = body_.Add(Opcode::kTanh, shape_, {x});
  Instruction* b = body_.Add(Opcode::kNegate, shape_, {x});
  body_.Tuple({a, b});
  module_.set_entry(body_.computation());
  module_.Finish();
  EXPECT_EQ(KernelsOf(*module_.entry(), ModuleWork(module_),
                      FusionStyleFor(/*cpu=*/true))
                .size(),
            2u);
}

}  // namespace
}  // namespace meshwright
