#include "meshwright/planner/price_whole_ops.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/mesh/cluster_file.h"
#include "meshwright/plan/plan.h"
#include "meshwright/planner/planner.h"

namespace meshwright {
namespace {

constexpr int64_t kRows = 8192;
constexpr int64_t kColumns = 4096;

// x -> kernels of these targets one after the other -> out, all [rows,columns].
Module Kernels(const std::vector<std::string>& targets) {
  Module module("kernels");
  Computation* const entry = module.AddComputation("main");
  const Shape shape = Shape::Array(ElementType::kF32, {kRows, kColumns});
  Instruction* x = entry->AddParameter(shape, "x");
  for (size_t i = 0; i < targets.size(); ++i) {
    x = entry->Add(Opcode::kCustomCall, shape, {x}, "call" + std::to_string(i));
    x->attributes.mutate().custom_call_target = targets[i];
  }
  module.set_entry(entry);
  entry->set_root(entry->Add(Opcode::kTanh, shape, {x}, "tanh"));
  return module;
}

struct Planned {
  Rates rates;
  Plan plan;
  std::vector<WholeOpCost> whole;
};

Planned PlanOn(const Module& module, const char* devices) {
  absl::StatusOr<Cluster> cluster = ParseClusterSpec(devices, {});
  EXPECT_TRUE(cluster.ok()) << cluster.status();
  const Rates rates = AssumedRates(*cluster);
  PlanRequest request;
  request.expert = Expert::kDp;
  request.stages = 1;
  request.micro_batches = 1;
  absl::StatusOr<Plan> plan = MakePlan(module, *cluster, rates, request);
  EXPECT_TRUE(plan.ok()) << plan.status();
  absl::StatusOr<std::vector<WholeOpCost>> whole = PriceWholeOps(module, *plan);
  EXPECT_TRUE(whole.ok()) << whole.status();
  return {rates, *std::move(plan), *std::move(whole)};
}

// A kernel that touches so many bytes and computes nothing.
double SecondsFor(double bytes, const Rates& rates) {
  return rates.op_seconds.value + bytes / rates.memory.At(bytes);
}

TEST(PriceWholeOpsTest, KernelsCountTheirBytesAndWhatIsGathered) {
  const Planned planned = PlanOn(Kernels({"f", "g", "f"}), "h200:8");
  ASSERT_EQ(planned.whole.size(), 2);
  const WholeOpCost& f = planned.whole[0];  // The worse of the two.
  EXPECT_EQ(f.target, "f");
  EXPECT_EQ(f.count, 2);
  const double array = 4.0 * kRows * kColumns;
  EXPECT_DOUBLE_EQ(f.seconds, 2 * SecondsFor(2 * array, planned.rates));
  EXPECT_DOUBLE_EQ(f.even_seconds,
                   2 * SecondsFor(2 * array / 8, planned.rates));
  EXPECT_EQ(f.rule, "b c -> b c {need_replication: c}");
  const WholeOpCost& g = planned.whole[1];
  EXPECT_EQ(g.target, "g");
  EXPECT_EQ(g.count, 1);
  // x, once: between the kernels nothing is split.
  EXPECT_DOUBLE_EQ(f.gathered_bytes, array * 7 / 8);
  EXPECT_EQ(g.gathered_bytes, 0);
  EXPECT_GT(f.gather_seconds, 0);
  EXPECT_GT(f.LostSeconds(), g.LostSeconds());
}

TEST(PriceWholeOpsTest, OneDeviceLosesNothing) {
  EXPECT_THAT(PlanOn(Kernels({"f"}), "h200:1").whole, testing::IsEmpty());
}

TEST(PriceWholeOpsTest, WhatHasARuleIsNotWhole) {
  Module module = Kernels({"f"});
  for (const auto& instruction : module.entry()->instructions()) {
    if (instruction->opcode == Opcode::kCustomCall) {
      instruction->frontend_attributes["mw.rule"] = "b c -> b c";
    }
  }
  EXPECT_THAT(PlanOn(module, "h200:8").whole, testing::IsEmpty());
}

TEST(PriceWholeOpsTest, OneRuleForAllCallsOrNone) {
  Module module("kernels");
  Computation* const entry = module.AddComputation("main");
  const Shape flat = Shape::Array(ElementType::kF32, {kRows});
  const Shape wide = Shape::Array(ElementType::kF32, {kRows, kColumns});
  Instruction* a = entry->AddParameter(flat, "a");
  Instruction* b = entry->AddParameter(wide, "b");
  std::vector<Instruction*> calls = {
      entry->Add(Opcode::kCustomCall, flat, {a}, "call0"),
      entry->Add(Opcode::kCustomCall, wide, {b}, "call1")};
  for (Instruction* call : calls) {
    call->attributes.mutate().custom_call_target = "f";
  }
  module.set_entry(entry);
  entry->set_root(
      entry->Add(Opcode::kTuple, Shape::Tuple({flat, wide}), calls, "out"));
  const Planned planned = PlanOn(module, "h200:8");
  ASSERT_EQ(planned.whole.size(), 1);
  EXPECT_EQ(planned.whole[0].rule, "");
  EXPECT_THAT(planned.whole[0].advice, testing::HasSubstr("mw.rule"));
}

TEST(PriceWholeOpsTest, WhatHasNothingToSplitIsNotMeant) {
  Module module = Kernels({});
  Computation* const entry = module.entry();
  const Shape one = Shape::Array(ElementType::kF32, {1, 1});
  Instruction* call = entry->Add(Opcode::kCustomCall, one,
                                 {entry->AddParameter(one, "y")}, "call");
  call->attributes.mutate().custom_call_target = "f";
  Instruction* tanh = entry->root();
  entry->set_root(entry->Add(Opcode::kTuple, Shape::Tuple({tanh->shape, one}),
                             {tanh, call}, "out"));
  EXPECT_THAT(PlanOn(module, "h200:8").whole, testing::IsEmpty());
}

TEST(PriceWholeOpsTest, PlansKeepIt) {
  Planned planned = PlanOn(Kernels({"f"}), "h200:8");
  planned.plan.whole = planned.whole;
  const absl::StatusOr<Plan> read = ParsePlan(ToJson(planned.plan));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(ToJson(*read), ToJson(planned.plan));
  ASSERT_EQ(read->whole.size(), 1);
  EXPECT_EQ(read->whole[0].rule, planned.whole[0].rule);
}

}  // namespace
}  // namespace meshwright
