#include "meshwright/cost/kernel_copies.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/cost/module_for_test.h"

namespace meshwright {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr FusionStyle kCpu{.transposes_for_collectives = true,
                           .transposes_for_dots = true};

Instruction* Gather(BodyForTest& body, Instruction* operand,
                    int64_t dimension) {
  Shape shape = operand->shape;
  shape.dimensions[dimension] *= 2;
  Instruction* made = body.Add(Opcode::kAllGather, shape, {operand});
  made->attributes.mutate().dimensions = {dimension};
  return made;
}

TEST(KernelCopiesTest, OfWhatIsGatheredInsideForAContraction) {
  for (const int64_t dimension : {0, 1}) {
    Module module("m");
    BodyForTest body(module.AddComputation("main"));
    Instruction* x = body.Parameter(F32({4, 8}));
    Instruction* gathered = Gather(body, x, dimension);
    EXPECT_EQ(SplitsInside(*gathered, x->shape), dimension == 1);
    Instruction* dot = body.Dot(gathered, body.Parameter(F32({16, 16})));
    Kernel kernel{.root = dot, .inputs = {gathered, dot->operands[1]}};
    AddTurnedInputs(*dot, kCpu, kernel);
    if (dimension == 0) {
      EXPECT_THAT(kernel.turned, IsEmpty());
    } else {
      ASSERT_THAT(kernel.turned, SizeIs(1));
      EXPECT_EQ(kernel.turned[0].input, 0);
      EXPECT_THAT(kernel.turned[0].order, ElementsAre(0, 1));
    }
  }
}

TEST(KernelCopiesTest, OfAProductThatIsScattered) {
  Module module("m");
  BodyForTest body(module.AddComputation("main"));
  Instruction* x = body.Parameter(F32({8, 8}));
  Instruction* tanh = body.Add(Opcode::kTanh, F32({8, 8}), {x});
  for (Instruction* operand : {body.Dot(x, x), tanh}) {
    Instruction* scatter =
        body.Add(Opcode::kReduceScatter, F32({8, 4}), {operand});
    scatter->attributes.mutate().dimensions = {1};
    Kernel kernel{.root = scatter, .inputs = {operand}};
    AddTurnedInputs(*scatter, kCpu, kernel);
    // Elementwise kernels write it transposed.
    EXPECT_EQ(kernel.turned.size(), operand == tanh ? 0u : 1u);
  }
}

// Contractions reshape their copies; a reduction has one of its own.
TEST(KernelCopiesTest, OfWhatIsGatheredInsideForAReduction) {
  for (const int64_t dimension : {0, 1}) {
    Module module("m");
    Computation* adder = AdderForTest(module);
    BodyForTest body(module.AddComputation("main"));
    Instruction* gathered =
        Gather(body, body.Parameter(F32({4, 8})), dimension);
    Instruction* sum = body.Reduce(gathered, adder);
    Kernel kernel{.root = sum, .inputs = {gathered}};
    AddTurnedInputs(*sum, kCpu, kernel);
    ASSERT_THAT(kernel.turned, SizeIs(dimension == 1 ? 1 : 0));
    if (dimension == 1) {
      EXPECT_THAT(kernel.turned[0].order, ElementsAre(kForReductions));
    }
  }
}

// What a contraction of `left` and `right` copies and packs.
struct CopiesOfDot {
  std::vector<TurnedInput> turned;
  std::vector<int32_t> repacked;
};

CopiesOfDot CopiesFor(const Shape& left, const Shape& right,
                      DotDimensionNumbers numbers) {
  Module module("m");
  BodyForTest body(module.AddComputation("main"));
  Instruction* a = body.Parameter(left);
  Instruction* b = body.Parameter(right);
  Instruction* dot = body.Add(Opcode::kDot, F32({1}), {a, b});
  dot->attributes.mutate().dot = std::move(numbers);
  Kernel kernel{.root = dot, .inputs = {a, b}};
  AddTurnedInputs(*dot, kCpu, kernel);
  AddRepackedInputs(*dot, kernel);
  return {.turned = kernel.turned, .repacked = kernel.repacked};
}

// The orders in which it reads copies.
std::vector<TurnedInput> TurnedFor(const Shape& left, const Shape& right,
                                   DotDimensionNumbers numbers) {
  return CopiesFor(left, right, std::move(numbers)).turned;
}

// Which of its operands are packed with jumps.
std::vector<int32_t> RepackedFor(const Shape& left, const Shape& right,
                                 DotDimensionNumbers numbers) {
  return CopiesFor(left, right, std::move(numbers)).repacked;
}

// The gradient of a weight contracts over batch and positions: rows of its left
// operand are to be side by side.
TEST(KernelCopiesTest, OfTheLeftOfAWeightsGradient) {
  const auto turned =
      TurnedFor(F32({2, 4, 8}), F32({2, 4, 16}),
                {.lhs_contracting = {0, 1}, .rhs_contracting = {0, 1}});
  ASSERT_THAT(turned, SizeIs(1));
  EXPECT_EQ(turned[0].input, 0);
  EXPECT_THAT(turned[0].order, ElementsAre(2, 0, 1));
}

TEST(KernelCopiesTest, OfBatchesThatAreNotFirst) {
  const auto turned = TurnedFor(F32({2, 4, 3, 8}), F32({2, 4, 3, 8}),
                                {.lhs_contracting = {3},
                                 .rhs_contracting = {3},
                                 .lhs_batch = {0, 2},
                                 .rhs_batch = {0, 2}});
  ASSERT_THAT(turned, SizeIs(2));
  EXPECT_THAT(turned[0].order, ElementsAre(0, 2, 1, 3));
  EXPECT_THAT(turned[1].order, ElementsAre(0, 2, 3, 1));
}

// Unless dimensions of one element are taken out in between.
TEST(KernelCopiesTest, NotOfMatricesThatAreReadTheOtherWay) {
  EXPECT_THAT(TurnedFor(F32({2, 4, 8}), F32({16, 8}),
                        {.lhs_contracting = {2}, .rhs_contracting = {1}}),
              IsEmpty());
  const DotDimensionNumbers batched{.lhs_contracting = {3},
                                    .rhs_contracting = {2},
                                    .lhs_batch = {0},
                                    .rhs_batch = {0}};
  EXPECT_THAT(TurnedFor(F32({2, 4, 4, 8}), F32({2, 16, 8}), batched),
              IsEmpty());
  const auto turned = TurnedFor(F32({1, 4, 4, 8}), F32({1, 16, 8}), batched);
  ASSERT_THAT(turned, SizeIs(1));
  EXPECT_THAT(turned[0].order, ElementsAre(2, 1));
}

// One dimension of 1 in front changes nothing.
TEST(KernelCopiesTest, FirstBesidesThoseOfOneElement) {
  Module module("m");
  BodyForTest body(module.AddComputation("main"));
  Instruction* gathered =
      Gather(body, body.Parameter(F32({1, 4, 8})), /*dimension=*/1);
  EXPECT_FALSE(SplitsInside(*gathered, gathered->operand_shape(0)));
}

TEST(KernelCopiesTest, OfWhatIsContractedAcrossItsRows) {
  // Forward; backward to the activations; to the weight.
  EXPECT_THAT(RepackedFor(F32({2, 4, 8}), F32({8, 16}),
                          {.lhs_contracting = {2}, .rhs_contracting = {0}}),
              IsEmpty());
  EXPECT_THAT(RepackedFor(F32({2, 4, 16}), F32({8, 16}),
                          {.lhs_contracting = {2}, .rhs_contracting = {1}}),
              ElementsAre(1));
  EXPECT_THAT(RepackedFor(F32({4, 8}), F32({4, 16}),
                          {.lhs_contracting = {0}, .rhs_contracting = {0}}),
              ElementsAre(0));
}

}  // namespace
}  // namespace meshwright
