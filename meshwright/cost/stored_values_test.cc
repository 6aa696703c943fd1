#include "meshwright/cost/stored_values.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/cost/kernels.h"
#include "meshwright/cost/module_for_test.h"

namespace meshwright {
namespace {

using testing::ElementsAre;

class StoredValuesTest : public ::testing::Test {
 protected:
  std::vector<const Instruction*> Roots() {
    module_.set_entry(body_.computation());
    module_.Finish();
    kernels_ = KernelsOf(*module_.entry(), ModuleWork(module_),
                         FusionStyleFor(/*cpu=*/false));
    std::vector<const Instruction*> roots;
    for (const Kernel& kernel : kernels_) roots.push_back(kernel.root);
    return roots;
  }

  Instruction* Wide(Instruction* row, const Shape& shape) {
    std::vector<int64_t> dimensions(row->shape.rank());
    for (size_t i = 0; i < dimensions.size(); ++i) {
      dimensions[i] = static_cast<int64_t>(i);
    }
    return body_.Broadcast(row, shape, dimensions);
  }

  Instruction* Binary(Opcode opcode, Instruction* a, Instruction* b) {
    return body_.Add(opcode, a->shape, {a, b});
  }

  // exp(x - max) / sum, and with `sum` the latter.
  Instruction* Softmax(Instruction* x, Instruction** sum = nullptr) {
    Instruction* max = body_.Reduce(x, adder_);
    Instruction* exp =
        body_.Add(Opcode::kExponential, x->shape,
                  {Binary(Opcode::kSubtract, x, Wide(max, x->shape))});
    Instruction* total = body_.Reduce(exp, adder_);
    if (sum != nullptr) *sum = total;
    return Binary(Opcode::kDivide, exp, Wide(total, x->shape));
  }

  // Of the rows that `x` has without its last dimension.
  Instruction* ColumnSum(Instruction* x) {
    Instruction* zero = body_.Constant(Literal::Scalar(0.0f));
    Instruction* sum =
        body_.Add(Opcode::kReduce, F32({x->shape.dimensions[1]}), {x, zero});
    sum->called = {adder_};
    sum->attributes.mutate().dimensions = {0};
    return sum;
  }

  Module module_{"m"};
  BodyForTest body_{module_.AddComputation("main")};
  Computation* adder_ = AdderForTest(module_);
  std::vector<Kernel> kernels_;
};

TEST_F(StoredValuesTest, ASoftmaxIsOneKernel) {
  Instruction* x = body_.Parameter(F32({64, 32}));
  Instruction* out = Softmax(x);
  EXPECT_THAT(Roots(), ElementsAre(out));
  EXPECT_EQ(kernels_[0].work.bytes, 4 * 2 * 64 * 32);
  EXPECT_EQ(kernels_[0].work.transcendentals, 64 * 32);
  EXPECT_FALSE(kernels_[0].strided);
}

TEST_F(StoredValuesTest, OfASoftmaxUsedTwiceTheSumIsStored) {
  Instruction* x = body_.Parameter(F32({64, 32}));
  Instruction* y = body_.Parameter(F32({64, 32}));
  Instruction* sum = nullptr;
  Instruction* out = Softmax(x, &sum);
  Instruction* other = Binary(Opcode::kMultiply, y, Wide(sum, y->shape));
  body_.Tuple({out, other});
  EXPECT_THAT(Roots(), ElementsAre(sum, out, other));
  EXPECT_EQ(kernels_[0].work.bytes, 4 * (64 * 32 + 64));
  EXPECT_EQ(kernels_[1].work.bytes, 4 * (2 * 64 * 32 + 64));
}

TEST_F(StoredValuesTest, ALayerNormIsOneKernel) {
  const Shape shape = F32({8, 16, 32});
  Instruction* x = body_.Parameter(shape);
  Instruction* mean = body_.Reduce(x, adder_);
  Instruction* off = Binary(Opcode::kSubtract, x, Wide(mean, shape));
  Instruction* variance =
      body_.Reduce(Binary(Opcode::kMultiply, off, off), adder_);
  Instruction* column =
      body_.Add(Opcode::kReshape, F32({8, 16, 1}), {variance});
  Instruction* root = body_.Add(Opcode::kRsqrt, F32({8, 16, 1}), {column});
  Instruction* row = body_.Add(Opcode::kReshape, F32({8, 16}), {root});
  Instruction* norm = Binary(Opcode::kMultiply, off, Wide(row, shape));
  EXPECT_THAT(Roots(), ElementsAre(norm));
  EXPECT_EQ(kernels_[0].work.bytes, 4 * 2 * 8 * 16 * 32);
}

TEST_F(StoredValuesTest, RowsEndWhereColumnsAreReduced) {
  Instruction* x = body_.Parameter(F32({64, 32}));
  Instruction* out = Softmax(x);
  Instruction* sum = ColumnSum(out);
  EXPECT_THAT(Roots(), ElementsAre(out, sum));
}

TEST_F(StoredValuesTest, LongRowsAreReducedByThemselves) {
  Instruction* x = body_.Parameter(F32({4, 50000}));
  Instruction* sum = body_.Reduce(x, adder_);
  Instruction* out = Binary(Opcode::kSubtract, x, Wide(sum, x->shape));
  EXPECT_THAT(Roots(), ElementsAre(sum, out));
}

TEST_F(StoredValuesTest, RowsOfOneElementAreNoReduction) {
  Instruction* x = body_.Parameter(F32({64, 32}));
  Instruction* sum = body_.Reduce(x, adder_);
  Instruction* column = body_.Add(Opcode::kReshape, F32({64, 1}), {sum});
  Instruction* same = body_.Reduce(column, adder_);
  Instruction* out = Binary(Opcode::kSubtract, x, Wide(same, x->shape));
  EXPECT_THAT(Roots(), ElementsAre(out));
}

TEST_F(StoredValuesTest, ARowOfOthersIsNotOurs) {
  Instruction* x = body_.Parameter(F32({32, 32}));
  Instruction* sum = body_.Reduce(x, adder_);
  // Along the other dimension: the sum of row i goes to column i.
  Instruction* wide = body_.Broadcast(sum, F32({32, 32}), {1});
  Instruction* out = Binary(Opcode::kSubtract, x, wide);
  EXPECT_THAT(Roots(), ElementsAre(sum, out));
}

// A residual stream: read from memory by all, not added up again by each.
TEST_F(StoredValuesTest, WhatManyKernelsNeedIsStored) {
  for (const int uses : {2, 5}) {
    Module module("m");
    BodyForTest body(module.AddComputation("main"));
    Instruction* x = body.Parameter(F32({16, 16}));
    Instruction* y = body.Parameter(F32({16, 16}));
    Instruction* sum = body.Add(Opcode::kAdd, x->shape, {x, y});
    Instruction* last = x;
    for (int i = 0; i < uses; ++i) {
      last = body.Dot(body.Add(Opcode::kMultiply, x->shape, {sum, last}), y);
    }
    module.set_entry(body.computation());
    module.Finish();
    const auto stored = ChooseStored(*module.entry(), Users(*module.entry()));
    EXPECT_EQ(stored[sum->id].stored, uses == 5);
  }
}

// An exponential is computed by both who need it, a polynomial is not.
TEST_F(StoredValuesTest, PolynomialsAreStoredForTwo) {
  for (const Opcode opcode : {Opcode::kExponential, Opcode::kTanh}) {
    Module module("m");
    BodyForTest body(module.AddComputation("main"));
    Instruction* x = body.Parameter(F32({16, 16}));
    Instruction* y = body.Parameter(F32({16, 16}));
    Instruction* made = body.Add(opcode, x->shape, {x});
    Instruction* last = x;
    for (int i = 0; i < 2; ++i) {
      last = body.Dot(body.Add(Opcode::kMultiply, x->shape, {made, last}), y);
    }
    module.set_entry(body.computation());
    module.Finish();
    const auto stored = ChooseStored(*module.entry(), Users(*module.entry()));
    EXPECT_EQ(stored[made->id].stored, opcode == Opcode::kTanh);
  }
}

// The rows that are looked up, not the whole table, converted before.
TEST_F(StoredValuesTest, LookingUpReadsWhatItTakes) {
  Instruction* table = body_.Parameter(F32({1000, 16}));
  Instruction* less = body_.Add(Opcode::kNegate, table->shape, {table});
  Instruction* part = body_.Add(Opcode::kSlice, F32({10, 16}), {less});
  part->attributes.mutate().slice = {{.start = 0, .limit = 10},
                                     {.start = 0, .limit = 16}};
  EXPECT_THAT(Roots(), ElementsAre(part));
  EXPECT_EQ(kernels_[0].work.bytes, 4 * 2 * 10 * 16);
}

}  // namespace
}  // namespace meshwright
