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
    return 0;
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

}  // namespace
}  // namespace meshwright
