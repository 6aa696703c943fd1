#include "meshwright/search/traffic.h"

#include "gtest/gtest.h"
#include "meshwright/hlo/verify.h"

namespace meshwright {
namespace {

// out = update(stack, negate(x) + x, i) with the sum made in the update.
class TrafficTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const Shape row = Shape::Array(ElementType::kF32, {1, 64});
    const Shape stack = Shape::Array(ElementType::kF32, {8, 64});
    const Shape index = Shape::Array(ElementType::kS32, {});
    Computation* entry = module_.AddComputation("main");
    Instruction* all = entry->AddParameter(stack, "stack");
    Instruction* x = entry->AddParameter(row, "x");
    Instruction* i = entry->AddParameter(index, "i");
    Instruction* negated = entry->Add(Opcode::kNegate, row, {x}, "negated");
    Instruction* sum = entry->Add(Opcode::kAdd, row, {negated, x}, "sum");
    entry->Add(Opcode::kDynamicUpdateSlice, stack, {all, sum, i, i}, "update");
    module_.set_entry(entry);
    module_.Finish();
    ASSERT_EQ(Verify(module_), absl::OkStatus());
    graph_ = Flatten(module_);
    traffic_ = TrafficOf(module_, graph_, FusionStyleFor(true));
  }

  OpId Op(const std::string& name) const {
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      if (graph_.ops[i].kind != OpKind::kOutput &&
          graph_.ops[i].instruction->name == name) {
        return static_cast<OpId>(i);
      }
    }
    ADD_FAILURE() << name;
    return OpId{0};
  }

  Module module_{"updates"};
  FlatGraph graph_;
  StepTraffic traffic_;
};

TEST_F(TrafficTest, FusedOpsStoreNothingAndReadOnce) {
  const OpTraffic& negated = traffic_.ops[Op("negated")];
  const OpTraffic& sum = traffic_.ops[Op("sum")];
  EXPECT_FALSE(negated.is_root);
  EXPECT_FALSE(sum.is_root);
  EXPECT_EQ(sum.kernels, 1);
  // x is read by one of the two.
  EXPECT_EQ(negated.reads[0] + sum.reads[1], 1);
  EXPECT_EQ(sum.reads[0], 0);
}

TEST_F(TrafficTest, AnUpdateWritesItsPart) {
  const OpTraffic& update = traffic_.ops[Op("update")];
  EXPECT_TRUE(update.is_root);
  EXPECT_EQ(update.writes, 1.0 / 8);
  EXPECT_EQ(update.reads[0], 0);
}

TEST_F(TrafficTest, ValuesAreReadWhenTheKernelRuns) {
  const ValueId x = graph_.ops[Op("x")].first_result;
  EXPECT_EQ(traffic_.last_read[x], Op("update"));
}

// Two results of one kernel: stored both, started once, x read once.
// A mask that an inlined call returns with what it made of it, as residuals of
// JAX's functions are: nothing is stored for the tuple.
TEST(TrafficOfTuplesTest, WhatIsHandedOnIsNotStored) {
  const Shape row = Shape::Array(ElementType::kF32, {64});
  Module module("m");
  Computation* entry = module.AddComputation("main");
  Instruction* x = entry->AddParameter(row, "x");
  Instruction* a = entry->Add(Opcode::kNegate, row, {x}, "a");
  Instruction* b = entry->Add(Opcode::kAdd, row, {a, x}, "b");
  Instruction* both =
      entry->Add(Opcode::kTuple, Shape::Tuple({row, row}), {a, b}, "both");
  Instruction* second = entry->Add(Opcode::kGetTupleElement, row, {both}, "b2");
  second->attributes.mutate().tuple_index = 1;
  Instruction* out = entry->Add(Opcode::kMultiply, row, {second, x}, "out");
  module.set_entry(entry);
  module.Finish();
  ASSERT_EQ(Verify(module), absl::OkStatus());
  const FlatGraph graph = Flatten(module);
  const StepTraffic traffic = TrafficOf(module, graph, FusionStyleFor(false));
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    if (graph.ops[i].kind != OpKind::kCompute) continue;
    EXPECT_EQ(traffic.ops[i].is_root, graph.ops[i].instruction == out)
        << graph.ops[i].instruction->name;
  }
}

TEST(MergedTrafficTest, ResultsOfOneKernel) {
  const Shape row = Shape::Array(ElementType::kF32, {64});
  Module module("m");
  Computation* entry = module.AddComputation("main");
  Instruction* x = entry->AddParameter(row, "x");
  Instruction* a = entry->Add(Opcode::kTanh, row, {x}, "a");
  Instruction* b = entry->Add(Opcode::kNegate, row, {x}, "b");
  entry->Add(Opcode::kTuple, Shape::Tuple({row, row}), {a, b}, "both");
  module.set_entry(entry);
  module.Finish();
  ASSERT_EQ(Verify(module), absl::OkStatus());
  const FlatGraph graph = Flatten(module);
  const StepTraffic traffic = TrafficOf(module, graph, FusionStyleFor(false));
  int starts = 0;
  double reads = 0;
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    if (graph.ops[i].kind != OpKind::kCompute) continue;
    const OpTraffic& op = traffic.ops[i];
    if (op.reads.size() != 1) continue;  // The tuple.
    EXPECT_TRUE(op.is_root);
    EXPECT_EQ(op.writes, 1);
    EXPECT_EQ(op.kernel.bytes, 3 * 4 * 64);
    starts += op.is_start;
    reads += op.reads[0];
  }
  EXPECT_EQ(starts, 1);
  EXPECT_EQ(reads, 1);
}

}  // namespace
}  // namespace meshwright
