#include "meshwright/cost/kernels.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/cost/module_for_test.h"

namespace meshwright {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

const Kernel* KernelOf(const std::vector<Kernel>& kernels,
                       const Instruction* root) {
  for (const Kernel& kernel : kernels) {
    if (kernel.root == root) return &kernel;
  }
  return nullptr;
}

std::vector<const Instruction*> Roots(const std::vector<Kernel>& kernels) {
  std::vector<const Instruction*> roots;
  for (const Kernel& kernel : kernels) roots.push_back(kernel.root);
  return roots;
}

// out = exp(x - max) / sum of it, the example of the header.
struct Softmax {
  Softmax() : body(module.AddComputation("main")) {
    Computation* adder = AdderForTest(module);
    x = body.Parameter(F32({8, 16}));
    max = body.Parameter(F32({8}));
    Instruction* wide = body.Broadcast(max, F32({8, 16}), {0});
    exp = body.Add(Opcode::kExponential, F32({8, 16}),
                   {body.Add(Opcode::kSubtract, F32({8, 16}), {x, wide})});
    sum = body.Reduce(exp, adder);
    out = body.Add(Opcode::kDivide, F32({8, 16}),
                   {exp, body.Broadcast(sum, F32({8, 16}), {0})});
    module.set_entry(body.computation());
    module.Finish();
  }
  Module module{"softmax"};
  BodyForTest body;
  Instruction *x, *max, *exp, *sum, *out;
};

TEST(KernelsTest, Softmax) {
  const Softmax softmax;
  const auto kernels =
      KernelsOf(*softmax.module.entry(), ModuleWork(softmax.module), {});
  EXPECT_THAT(Roots(kernels),
              ElementsAre(softmax.exp, softmax.sum, softmax.out));
  EXPECT_THAT(kernels[0].inputs, UnorderedElementsAre(softmax.x, softmax.max));
  EXPECT_EQ(kernels[0].fused.size(), 2);  // The broadcast and the subtraction.
  EXPECT_EQ(kernels[0].work.flops, 128);
  EXPECT_EQ(kernels[0].work.transcendentals, 128);
  EXPECT_EQ(kernels[0].work.bytes, 4 * (128 + 8 + 128));
  EXPECT_THAT(kernels[2].inputs,
              UnorderedElementsAre(softmax.exp, softmax.sum));
  // The result may lie where exp was: of the two only it is read in order.
  ASSERT_EQ(kernels[2].in_place.size(), 1u);
  EXPECT_EQ(kernels[2].inputs[kernels[2].in_place[0]], softmax.exp);
}

TEST(KernelsTest, ReshapesAreFreeAndCheapOpsComputedAgain) {
  Module module("m");
  BodyForTest body(module.AddComputation("main"));
  Instruction* x = body.Parameter(F32({4, 4}));
  Instruction* w = body.Parameter(F32({4, 4}));
  Instruction* twice = body.Add(Opcode::kNegate, F32({4, 4}), {x});
  Instruction* flat = body.Add(Opcode::kReshape, F32({16}), {twice});
  Instruction* a = body.Add(Opcode::kTanh, F32({16}), {flat});
  Instruction* dot = body.Dot(twice, w);
  body.Tuple({a, dot});
  module.set_entry(body.computation());
  module.Finish();
  const auto kernels = KernelsOf(*module.entry(), ModuleWork(module), {});
  // The dot needs it stored; the tanh computes it again rather than read it.
  EXPECT_THAT(Roots(kernels), ElementsAre(twice, a, dot));
  EXPECT_THAT(KernelOf(kernels, a)->inputs, ElementsAre(x));
  EXPECT_THAT(KernelOf(kernels, dot)->inputs, ElementsAre(twice, w));
}

TEST(KernelsTest, WhatReadsTwoArraysIsNotComputedAgain) {
  Module module("m");
  BodyForTest body(module.AddComputation("main"));
  Instruction* x = body.Parameter(F32({4, 4}));
  Instruction* w = body.Parameter(F32({4, 4}));
  Instruction* sum = body.Add(Opcode::kAdd, F32({4, 4}), {x, w});
  Instruction* a = body.Add(Opcode::kNegate, F32({4, 4}), {sum});
  Instruction* dot = body.Dot(sum, w);
  body.Tuple({a, dot});
  module.set_entry(body.computation());
  module.Finish();
  const auto kernels = KernelsOf(*module.entry(), ModuleWork(module), {});
  EXPECT_THAT(KernelOf(kernels, a)->inputs, ElementsAre(sum));
}

TEST(KernelsTest, ReductionsOfAnAcceleratorFuseTheirOperand) {
  Module module("m");
  BodyForTest body(module.AddComputation("main"));
  Computation* adder = AdderForTest(module);
  Instruction* x = body.Parameter(F32({4, 8}));
  Instruction* square = body.Add(Opcode::kMultiply, F32({4, 8}), {x, x});
  Instruction* sum = body.Reduce(square, adder);
  module.set_entry(body.computation());
  module.Finish();
  const ModuleWork work(module);
  EXPECT_THAT(Roots(KernelsOf(*module.entry(), work, {})),
              ElementsAre(square, sum));
  const auto fused =
      KernelsOf(*module.entry(), work, {.reduce_reads_fused = true});
  EXPECT_THAT(Roots(fused), ElementsAre(sum));
  EXPECT_EQ(fused[0].work.bytes, 4 * (32 + 4));
}

// Adding up without end would make every kernel read everything before it.
TEST(KernelsTest, KernelsDoNotGrowWithoutLimit) {
  Module module("m");
  BodyForTest body(module.AddComputation("main"));
  Instruction* x = body.Parameter(F32({8, 8}));
  Instruction* sum = x;
  std::vector<Instruction*> dots;
  for (int i = 0; i < 200; ++i) {
    Instruction* dot = body.Dot(sum, x);
    sum = body.Add(Opcode::kAdd, F32({8, 8}), {sum, dot});
  }
  body.Add(Opcode::kNegate, F32({8, 8}), {sum});
  module.set_entry(body.computation());
  module.Finish();
  for (const Kernel& kernel :
       KernelsOf(*module.entry(), ModuleWork(module), {})) {
    EXPECT_LE(kernel.inputs.size(), 64u);
  }
}

TEST(KernelsTest, SlicesReadWhatTheyTake) {
  Module module("m");
  BodyForTest body(module.AddComputation("main"));
  Instruction* x = body.Parameter(F32({1000}));
  Instruction* slice = body.Add(Opcode::kSlice, F32({10}), {x});
  slice->attributes.mutate().slice = {{.start = 0, .limit = 10}};
  body.Add(Opcode::kNegate, F32({10}), {slice});
  module.set_entry(body.computation());
  module.Finish();
  const auto kernels = KernelsOf(*module.entry(), ModuleWork(module), {});
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].work.bytes, 80);
}

// y = a * b, for a contraction and for something elementwise.
TEST(KernelsTest, WhatIsReshapedForAContractionIsComputedAgainElsewhere) {
  for (const bool reshaped : {false, true}) {
    Module module("m");
    BodyForTest body(module.AddComputation("main"));
    const Shape shape = reshaped ? F32({2, 8, 16}) : F32({16, 16});
    Instruction* a = body.Dot(body.Parameter(shape), body.Parameter(shape));
    Instruction* b = body.Parameter(shape);
    Instruction* y = body.Add(Opcode::kMultiply, shape, {a, b});
    Instruction* dot =
        body.Add(Opcode::kDot, shape, {y, body.Parameter(F32({16, 16}))});
    dot->attributes.mutate().dot = DotDimensionNumbers{
        .lhs_contracting = {shape.rank() - 1}, .rhs_contracting = {0}};
    Instruction* other = body.Add(Opcode::kNegate, shape, {y});
    body.Tuple({dot, other});
    module.set_entry(body.computation());
    module.Finish();
    const auto kernels = KernelsOf(*module.entry(), ModuleWork(module), {});
    ASSERT_NE(KernelOf(kernels, y), nullptr);
    if (reshaped) {
      EXPECT_THAT(KernelOf(kernels, other)->inputs, UnorderedElementsAre(a, b));
    } else {
      EXPECT_THAT(KernelOf(kernels, other)->inputs, ElementsAre(y));
    }
  }
}

TEST(KernelsTest, ConvolutionsCopyWhatHasChannelsElsewhere) {
  Module module("m");
  BodyForTest body(module.AddComputation("main"));
  Instruction* images = body.Parameter(F32({2, 3, 5, 5}));  // Channels second.
  Instruction* kernel = body.Parameter(F32({1, 1, 3, 4}));
  body.Convolution(images, kernel, F32({2, 5, 5, 4}));
  module.set_entry(body.computation());
  module.Finish();
  const auto kernels = KernelsOf(*module.entry(), ModuleWork(module), {});
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].scratch_bytes, 4 * 2 * 3 * 5 * 5);
  EXPECT_EQ(kernels[0].copied, std::vector<int32_t>{0});
}

TEST(KernelsTest, AcceleratorsSortInManyPasses) {
  Module module("m");
  BodyForTest body(module.AddComputation("main"));
  Instruction* x = body.Parameter(F32({4, 8192}));
  Instruction* sort = body.Add(Opcode::kSort, x->shape, {x});
  sort->attributes.mutate().dimensions = {1};
  module.set_entry(body.computation());
  module.Finish();
  const auto bytes = [&](bool cpu) {
    const auto kernels =
        KernelsOf(*module.entry(), ModuleWork(module), FusionStyleFor(cpu));
    return KernelOf(kernels, sort)->work.bytes;
  };
  EXPECT_NEAR(bytes(/*cpu=*/false) / bytes(/*cpu=*/true), 0.3 * 13 * 14 / 2,
              1e-9);
}

// A slice is written into zeros that are there before; others that want zeros
// make them again.
TEST(KernelsTest, ZerosThatAreUpdatedInPlaceAreStored) {
  Module module("m");
  BodyForTest body(module.AddComputation("main"));
  Instruction* x = body.Parameter(F32({4, 8}));
  Instruction* y = body.Parameter(F32({8, 8}));
  Instruction* at = body.Parameter(Shape::Scalar(ElementType::kS32));
  Instruction* zeros =
      body.Broadcast(body.Constant(Literal::Scalar(0.0f)), F32({8, 8}), {});
  Instruction* update =
      body.Add(Opcode::kDynamicUpdateSlice, F32({8, 8}), {zeros, x, at, at});
  Instruction* most = body.Add(Opcode::kMaximum, F32({8, 8}), {zeros, y});
  body.Tuple({body.Dot(update, update), body.Dot(most, most)});
  module.set_entry(body.computation());
  module.Finish();
  const auto kernels = KernelsOf(*module.entry(), ModuleWork(module), {});
  ASSERT_NE(KernelOf(kernels, zeros), nullptr);
  EXPECT_THAT(KernelOf(kernels, update)->inputs,
              UnorderedElementsAre(zeros, x, at));
  EXPECT_THAT(KernelOf(kernels, update)->in_place, ElementsAre(0));
  EXPECT_THAT(KernelOf(kernels, most)->inputs,
              testing::Not(testing::Contains(zeros)));
}

TEST(KernelsTest, AKernelThatNormalizesRowsHoldsThem) {
  const Softmax softmax;
  for (const bool cpu : {false, true}) {
    const auto kernels =
        KernelsOf(*softmax.module.entry(), ModuleWork(softmax.module),
                  FusionStyleFor(cpu));
    const Kernel* out = KernelOf(kernels, softmax.out);
    ASSERT_NE(out, nullptr);
    EXPECT_EQ(out->holds_rows, !cpu);
    EXPECT_FALSE(out->unaligned_rows);  // 64 bytes each.
  }
}

// Of 100 rows, 32 at a time; short rows hold no columns, long columns are
// split.
TEST(KernelsTest, SumsOverColumnsTakeSteps) {
  const auto steps = [](int64_t rows, int64_t reduced) {
    Module module("m");
    BodyForTest body(module.AddComputation("main"));
    Computation* adder = AdderForTest(module);
    Instruction* x = body.Parameter(F32({rows, 8}));
    Instruction* sum =
        body.Reduce(body.Add(Opcode::kMultiply, F32({rows, 8}),
                             {x, body.Parameter(F32({rows, 8}))}),
                    adder);
    sum->shape = F32({reduced == 0 ? 8 : rows});
    sum->attributes.mutate().dimensions = {reduced};
    module.set_entry(body.computation());
    module.Finish();
    const auto kernels = KernelsOf(*module.entry(), ModuleWork(module),
                                   FusionStyleFor(/*cpu=*/false));
    return KernelOf(kernels, sum)->column_steps;
  };
  EXPECT_EQ(steps(100, 0), 4 * 2);
  EXPECT_EQ(steps(100, 1), 0);
  EXPECT_EQ(steps(5000, 0), 0);
}

// It only multiplies.
TEST(KernelsTest, AContractionOverNothingIsFused) {
  Module module("m");
  BodyForTest body(module.AddComputation("main"));
  Instruction* x = body.Parameter(F32({8, 4}));
  Instruction* y = body.Parameter(F32({8, 4}));
  Instruction* outer = body.Add(Opcode::kDot, F32({8, 4, 4}), {x, y});
  outer->attributes.mutate().dot =
      DotDimensionNumbers{.lhs_batch = {0}, .rhs_batch = {0}};
  Instruction* out = body.Add(Opcode::kNegate, F32({8, 4, 4}), {outer});
  body.Tuple({out});
  module.set_entry(body.computation());
  module.Finish();
  EXPECT_THAT(Roots(KernelsOf(*module.entry(), ModuleWork(module), {})),
              ElementsAre(out));
}

}  // namespace
}  // namespace meshwright
