// Kernels: which strategies they have, and the same kernel on local shapes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "meshwright/hlo/kernel_calls.h"
#include "meshwright/rules/lowering.h"
#include "meshwright/rules/recorded_flops.h"
#include "meshwright/rules/refusal.h"
#include "meshwright/rules/rule_text.h"

namespace meshwright {
namespace {

using ::testing::ElementsAre;

Shape Rows(int64_t rows) { return Shape::Array(ElementType::kF32, {rows, 16}); }

// norm(f32[8,16], f32[16]) with bodies for these numbers of rows.
class KernelTest : public ::testing::Test {
 protected:
  KernelTest() {
    Computation* entry = module_.AddComputation("main");
    Instruction* x = entry->AddParameter(Rows(8), "x");
    Instruction* scale = entry->AddParameter(scale_, "scale");
    kernel_ = entry->Add(Opcode::kCustomCall, Rows(8), {x, scale}, "y");
    kernel_->attributes.mutate().custom_call_target = "norm";
    kernel_->frontend_attributes = {
        {kKernelAttribute, "norm"},
        {kRuleAttribute, "b n, n -> b n {need_replication: n}"}};
    for (const int64_t rows : {8, 4, 1}) {
      Computation* body = module_.AddComputation("norm." + Text(rows));
      Instruction* in = body->AddParameter(Rows(rows), "in" + Text(rows));
      body->AddParameter(scale_, "by" + Text(rows));
      body->Add(Opcode::kNegate, Rows(rows), {in}, "out" + Text(rows));
      body->set_root(body->instruction(2));
      kernel_->called.push_back(body);
    }
    module_.set_entry(entry);
    module_.Finish();
  }

  static std::string Text(int64_t number) { return std::to_string(number); }

  // Rows split over an axis of this size.
  bool IsValidOn(int64_t devices) const {
    const Mesh mesh = Mesh::Create({{"data", devices}}).value();
    Strategy strategy{.factor_axes = {mesh.AllSubAxes(), {}}};
    return IsValid(RuleFor(*kernel_), strategy, mesh);
  }

  const Shape scale_ = Shape::Array(ElementType::kF32, {16});
  Module module_{"step"};
  Instruction* kernel_ = nullptr;
};

TEST_F(KernelTest, IsSplitOnlyIntoWhatItHasBodiesFor) {
  const Rule rule = RuleFor(*kernel_);
  EXPECT_FALSE(rule.is_fallback);
  EXPECT_THAT(rule.variants, ElementsAre(TensorSizes{8, 16, 16, 8, 16},
                                         TensorSizes{4, 16, 16, 4, 16},
                                         TensorSizes{1, 16, 16, 1, 16}));
  EXPECT_TRUE(IsValidOn(2));
  EXPECT_FALSE(IsValidOn(4));  // No body for 2 rows.
  EXPECT_TRUE(IsValidOn(8));
}

TEST_F(KernelTest, OthersMayBeSplitAsTheirRuleSays) {
  kernel_->called.clear();
  EXPECT_TRUE(RuleFor(*kernel_).variants.empty());
  EXPECT_TRUE(IsValidOn(4));
}

TEST_F(KernelTest, IsTheSameOnLocalShapes) {
  const Mesh mesh = Mesh::Create({{"data", 2}}).value();
  const Rule rule = RuleFor(*kernel_);
  const Strategy strategy{.factor_axes = {mesh.AllSubAxes(), {}}};
  LocalProgram program("local", mesh);
  Computation* entry = program.module.AddComputation("main");
  LocalBuilder builder(&program, entry);
  const std::vector<Instruction*> operands = {
      entry->AddParameter(Rows(4), "x"), entry->AddParameter(scale_, "scale")};
  const std::vector<Instruction*> results =
      Lower({*kernel_, rule, strategy, operands}, builder);
  ASSERT_EQ(results.size(), 1);
  EXPECT_EQ(results[0]->shape.dimensions, Rows(4).dimensions);
  ASSERT_TRUE(IsKernel(*results[0]));
  EXPECT_EQ(KernelBody(*results[0])->name(), "norm.4");
  EXPECT_EQ(results[0]->called.size(), 2);  // Not that for 8 rows.
  EXPECT_THAT(RuleFor(*results[0]).variants,
              ElementsAre(TensorSizes{4, 16, 16, 4, 16},
                          TensorSizes{1, 16, 16, 1, 16}));
}

TEST_F(KernelTest, ADeviceHasItsShareOfTheOperations) {
  kernel_->frontend_attributes[kFlopsAttribute] = "1000";
  EXPECT_EQ(RecordedFlops(*kernel_), 1000);
  const Mesh mesh = Mesh::Create({{"data", 8}}).value();
  const Rule rule = RuleFor(*kernel_);
  const Strategy strategy{.factor_axes = {mesh.AllSubAxes(), {}}};
  LocalProgram program("local", mesh);
  Computation* entry = program.module.AddComputation("main");
  LocalBuilder builder(&program, entry);
  const std::vector<Instruction*> operands = {
      entry->AddParameter(Rows(1), "x"), entry->AddParameter(scale_, "scale")};
  const std::vector<Instruction*> results =
      Lower({*kernel_, rule, strategy, operands}, builder);
  EXPECT_EQ(RecordedFlops(*results[0]), 125);
}

TEST_F(KernelTest, OperationsAreANumber) {
  EXPECT_EQ(Refusal(*kernel_), "");
  for (const char* wrong : {"many", "-1", "inf", ""}) {
    kernel_->frontend_attributes[kFlopsAttribute] = wrong;
    EXPECT_FALSE(RecordedFlops(*kernel_).has_value()) << wrong;
    EXPECT_EQ(Refusal(*kernel_), std::string("its mw.flops '") + wrong +
                                     "': expected a number of operations");
  }
}

}  // namespace
}  // namespace meshwright
