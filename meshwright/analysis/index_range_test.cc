#include "meshwright/analysis/index_range.h"

#include <memory>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/analysis/sign.h"
#include "meshwright/analysis/testdata_for_test.h"
#include "meshwright/hlo/shapes_for_test.h"

namespace meshwright {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

const Shape kTable = Shape::Array(ElementType::kF32, {11, 8});
const Shape kRow = Shape::Array(ElementType::kF32, {1, 8});

TEST(IndexRangeTest, TokensAndLabelsOfGpt) {
  for (const std::string version : kJaxVersions) {
    // Parameters 55 and 56, 19 and 20 are tokens and labels; 54 and 18 the
    // step count.
    EXPECT_THAT(IndexBounds(ReadTestModule("gpt." + version)),
                ElementsAre(Pair(55, 11), Pair(56, 11)));
    EXPECT_THAT(IndexBounds(ReadTestModule("gpt_scanned." + version)),
                ElementsAre(Pair(19, 11), Pair(20, 11)));
  }
}

TEST(IndexRangeTest, OneHotLabels) {
  for (const std::string version : kJaxVersions) {
    EXPECT_THAT(IndexBounds(ReadTestModule("one_hot." + version)),
                ElementsAre(Pair(0, 10)));
  }
}

TEST(IndexRangeTest, RowsColumnsAndStarts) {
  for (const std::string version : kJaxVersions) {
    EXPECT_THAT(IndexBounds(ReadTestModule("take." + version)),
                ElementsAre(Pair(1, 11), Pair(2, 8), Pair(3, 9)));
  }
}

TEST(IndexRangeTest, NothingIndexed) {
  for (const std::string version : kJaxVersions) {
    EXPECT_THAT(IndexBounds(ReadTestModule("dynamic_fori." + version)),
                IsEmpty());
  }
}

// main(table, i) = dynamic-slice(table, f(i), 0), with f given.
class ArithmeticTest : public ::testing::Test {
 protected:
  ArithmeticTest() {
    entry_ = module_.AddComputation("main");
    module_.set_entry(entry_);
    table_ = entry_->AddParameter(kTable, "table");
    i_ = entry_->AddParameter(kS32, "i");
  }

  Instruction* Constant(int32_t value) {
    Instruction* constant = entry_->Add(Opcode::kConstant, kS32, {}, "c");
    constant->attributes.mutate().literal =
        std::make_shared<Literal>(Literal::Scalar(value));
    return constant;
  }

  std::map<int64_t, int64_t> BoundsOf(Instruction* index) {
    Instruction* slice = entry_->Add(Opcode::kDynamicSlice, kRow,
                                     {table_, index, Constant(0)}, "slice");
    slice->attributes.mutate().dynamic_slice_sizes = {1, 8};
    return IndexBounds(module_);
  }

  std::map<int64_t, int64_t> BoundsOf(Opcode opcode, int32_t constant) {
    return BoundsOf(entry_->Add(opcode, kS32, {i_, Constant(constant)}, "f"));
  }

  Module module_{"m"};
  Computation* entry_ = nullptr;
  Instruction* table_ = nullptr;
  Instruction* i_ = nullptr;
};

TEST_F(ArithmeticTest, Sum) {
  EXPECT_THAT(BoundsOf(Opcode::kAdd, 3), ElementsAre(Pair(1, 8)));
}
TEST_F(ArithmeticTest, SumThatLeavesNothingIsDropped) {
  EXPECT_THAT(BoundsOf(Opcode::kAdd, 11), IsEmpty());
}
TEST_F(ArithmeticTest, Difference) {
  EXPECT_THAT(BoundsOf(Opcode::kSubtract, 3), ElementsAre(Pair(1, 14)));
}
TEST_F(ArithmeticTest, Product) {
  EXPECT_THAT(BoundsOf(Opcode::kMultiply, 4), ElementsAre(Pair(1, 3)));
}
TEST_F(ArithmeticTest, Quotient) {
  EXPECT_THAT(BoundsOf(Opcode::kDivide, 4), ElementsAre(Pair(1, 44)));
}
TEST_F(ArithmeticTest, Minimum) {
  EXPECT_THAT(BoundsOf(Opcode::kMinimum, 4), ElementsAre(Pair(1, 11)));
}
TEST_F(ArithmeticTest, OtherOpsStopTheSearch) {
  EXPECT_THAT(BoundsOf(Opcode::kXor, 4), IsEmpty());
}

TEST_F(ArithmeticTest, ThroughALoopThatAlsoCounts) {
  // while (...) { slice(table, i); i = i + 1 } carrying (i, table).
  const Shape carried = Shape::Tuple({kS32, kTable});
  Computation* condition = module_.AddComputation("condition");
  condition->AddParameter(carried, "p");
  condition->Add(Opcode::kConstant, Shape::Scalar(ElementType::kPred), {}, "c");
  Computation* body = module_.AddComputation("body");
  Instruction* q = body->AddParameter(carried, "q");
  Instruction* i = body->Add(Opcode::kGetTupleElement, kS32, {q}, "i");
  Instruction* table =
      body->Add(Opcode::kGetTupleElement, kTable, {q}, "table");
  table->attributes.mutate().tuple_index = 1;
  Instruction* one = body->Add(Opcode::kConstant, kS32, {}, "one");
  one->attributes.mutate().literal =
      std::make_shared<Literal>(Literal::Scalar(int32_t{1}));
  body->Add(Opcode::kDynamicSlice, kRow, {table, i, one}, "slice")
      ->attributes.mutate()
      .dynamic_slice_sizes = {1, 8};
  Instruction* next = body->Add(Opcode::kAdd, kS32, {i, one}, "next");
  body->Add(Opcode::kTuple, carried, {next, table}, "tuple");

  Instruction* state =
      entry_->Add(Opcode::kTuple, carried, {i_, table_}, "state");
  entry_->Add(Opcode::kWhile, carried, {state}, "while")->called = {body,
                                                                    condition};
  EXPECT_THAT(IndexBounds(module_), ElementsAre(Pair(1, 11)));
}

TEST_F(ArithmeticTest, CallsThatDoubleDoNotTakeForever) {
  // f0(i) = i; f[n](i) = f[n-1](f[n-1](i) + 1): 2^60 calls, written out.
  Computation* callee = module_.AddComputation("f0");
  callee->AddParameter(kS32, "x");
  for (int n = 1; n < 60; ++n) {
    Computation* f = module_.AddComputation("f");
    Instruction* x = f->AddParameter(kS32, "x");
    Instruction* c = f->Add(Opcode::kConstant, kS32, {}, "c");
    c->attributes.mutate().literal =
        std::make_shared<Literal>(Literal::Scalar(int32_t{1}));
    Instruction* once = f->Add(Opcode::kCall, kS32, {x}, "once");
    Instruction* sum = f->Add(Opcode::kAdd, kS32, {once, c}, "sum");
    Instruction* twice = f->Add(Opcode::kCall, kS32, {sum}, "twice");
    once->called = {callee};
    twice->called = {callee};
    callee = f;
  }
  Instruction* call = entry_->Add(Opcode::kCall, kS32, {i_}, "call");
  call->called = {callee};
  BoundsOf(call);
}

TEST(SignTest, SecondMomentsOfAdamMustNotBeNegative) {
  for (const std::string version : kJaxVersions) {
    std::set<int64_t> nu;
    for (int64_t i = 0; i < 18; ++i) nu.insert(36 + i);
    EXPECT_EQ(NonNegativeParameters(ReadTestModule("gpt." + version)), nu);
  }
}

}  // namespace
}  // namespace meshwright
