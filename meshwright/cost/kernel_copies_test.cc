#include "meshwright/cost/kernel_copies.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/cost/module_for_test.h"

namespace meshwright {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

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
    AddCollectiveCopies(*dot, kernel);
    if (dimension == 0) {
      EXPECT_THAT(kernel.turned, IsEmpty());
    } else {
      EXPECT_THAT(kernel.turned, ElementsAre(0));
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
    AddCollectiveCopies(*scatter, kernel);
    // Elementwise kernels write it transposed.
    EXPECT_EQ(kernel.turned.size(), operand == tanh ? 0u : 1u);
  }
}

// One dimension of 1 in front changes nothing.
TEST(KernelCopiesTest, FirstBesidesThoseOfOneElement) {
  Module module("m");
  BodyForTest body(module.AddComputation("main"));
  Instruction* gathered =
      Gather(body, body.Parameter(F32({1, 4, 8})), /*dimension=*/1);
  EXPECT_FALSE(SplitsInside(*gathered, gathered->operand_shape(0)));
}

}  // namespace
}  // namespace meshwright
