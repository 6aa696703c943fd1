#include "meshwright/loops/op_restriction.h"

#include <memory>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/hlo/computation.h"
#include "meshwright/hlo/literal.h"
#include "meshwright/hlo/module.h"
#include "meshwright/hlo/shapes_for_test.h"

namespace meshwright {
namespace {

using ::testing::ElementsAre;

class OpRestrictionTest : public ::testing::Test {
 protected:
  Instruction* Parameter(std::vector<int64_t> dimensions) {
    return entry_->AddParameter(F32(std::move(dimensions)), "p");
  }

  Module module_{"module"};
  Computation* entry_ = module_.AddComputation("main");
  const DimensionSplit split_{.dimension = 0, .bounds = {0, 4, 12}};
};

TEST_F(OpRestrictionTest, ElementwiseOpsTakePartsOfAll) {
  const Instruction& add =
      *entry_->Add(Opcode::kAdd, F32({12, 6}),
                   {Parameter({12, 6}), Parameter({12, 6})}, "add");
  const auto parts = OpRestriction::OfOperand(add, 0, split_);
  ASSERT_TRUE(parts.has_value());
  EXPECT_EQ(parts->Operand(1), split_);
  EXPECT_EQ(parts->Result(), split_);
}

TEST_F(OpRestrictionTest, ReshapesTakePartsWhereTheFirstFactorIsSplit) {
  Instruction* x = Parameter({12, 6});
  const Instruction& flat =
      *entry_->Add(Opcode::kReshape, F32({72}), {x}, "flat");
  const auto parts = OpRestriction::OfOperand(flat, 0, split_);
  ASSERT_TRUE(parts.has_value());
  EXPECT_THAT(parts->Result()->bounds, ElementsAre(0, 24, 72));
  const auto back =
      OpRestriction::OfResult(flat, {.dimension = 0, .bounds = {0, 24, 72}});
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->Operand(0), split_);
  EXPECT_FALSE(
      OpRestriction::OfResult(flat, {.dimension = 0, .bounds = {0, 25, 72}})
          .has_value());
  // 12 = 3 * 4: parts of 4 are no rows of 3.
  const Instruction& odd =
      *entry_->Add(Opcode::kReshape, F32({8, 9}), {x}, "odd");
  EXPECT_FALSE(
      OpRestriction::OfOperand(odd, 0, {.dimension = 0, .bounds = {0, 5, 12}})
          .has_value());
}

TEST_F(OpRestrictionTest, BroadcastsAreTheSameAllAlong) {
  Instruction* row = Parameter({6});
  Instruction* wide =
      entry_->Add(Opcode::kBroadcast, F32({12, 6}), {row}, "wide");
  wide->attributes.mutate().dimensions = {1};
  const auto parts = OpRestriction::OfResult(*wide, split_);
  ASSERT_TRUE(parts.has_value());
  EXPECT_FALSE(parts->Operand(0).has_value());
}

TEST_F(OpRestrictionTest, SumsOverTheSplitArePartial) {
  Computation* add = module_.AddComputation("add");
  const Shape scalar = F32({});
  Instruction* a = add->AddParameter(scalar, "a");
  Instruction* b = add->AddParameter(scalar, "b");
  add->Add(Opcode::kAdd, scalar, {a, b}, "sum");
  for (const int64_t over : {0, 1}) {
    Instruction* sum =
        entry_->Add(Opcode::kReduce, F32({over == 0 ? 6 : 12}),
                    {Parameter({12, 6}), Parameter({})}, "reduce");
    sum->attributes.mutate().dimensions = {over};
    sum->called = {add};
    const auto parts = OpRestriction::OfOperand(*sum, 0, split_);
    ASSERT_TRUE(parts.has_value());
    EXPECT_EQ(parts->Result().has_value(), over == 1);
    EXPECT_EQ(parts->reduction(), Reduction::kSum);
  }
}

TEST_F(OpRestrictionTest, ContractionsAndSlicesStayWhole) {
  Instruction* slice =
      entry_->Add(Opcode::kSlice, F32({12, 2}), {Parameter({12, 6})}, "slice");
  slice->attributes.mutate().slice = {{0, 12, 1}, {0, 2, 1}};
  EXPECT_FALSE(OpRestriction::OfOperand(*slice, 0, split_).has_value());
  Instruction* dot =
      entry_->Add(Opcode::kDot, F32({12, 5}),
                  {Parameter({12, 6}), Parameter({6, 5})}, "dot");
  dot->attributes.mutate().dot.emplace();
  dot->attributes.mutate().dot->lhs_contracting = {1};
  dot->attributes.mutate().dot->rhs_contracting = {0};
  EXPECT_FALSE(OpRestriction::OfOperand(*dot, 0, split_).has_value());
}

}  // namespace
}  // namespace meshwright
