// Products with a scale for each block: the opcode and XLA's call.
#include <gtest/gtest.h>

#include "absl/status/status.h"
#include "tests/rules/lowered.h"
#include "tests/rules/rule_oracle.h"

namespace meshwright {
namespace {

OneOp ScaledDot(const std::vector<std::string>& operands,
                const DotDimensionNumbers& numbers, const std::string& result) {
  return {.opcode = Opcode::kScaledDot,
          .operands = operands,
          .set = [=](Attributes& attributes) { attributes.dot = numbers; },
          .result = result};
}

OneOp BlockScaledCall(const std::vector<std::string>& operands,
                      const std::string& result) {
  return {.opcode = Opcode::kCustomCall,
          .operands = operands,
          .set =
              [](Attributes& attributes) {
                attributes.custom_call_target = "__op$block_scaled_dot";
              },
          .result = result};
}

const DotDimensionNumbers kBatched{.lhs_contracting = {2},
                                   .rhs_contracting = {2},
                                   .lhs_batch = {0},
                                   .rhs_batch = {0}};

TEST(ScaledDotRule, BlocksStayInOnePiece) {
  const OneOp op =
      ScaledDot({"f32[2,6,32]", "f32[2,4,32]", "f32[2,6,8]", "f32[2,4,8]"},
                kBatched, "f32[2,6,4]");
  const Rule rule = RuleFor(*Build(op).instruction);
  ASSERT_EQ(rule.operands[0][2].size(), 2);
  EXPECT_EQ(rule.factors[rule.operands[0][2][0]].size, 8);
  EXPECT_EQ(KindOf(rule, 0, 2), FactorKind::kReduced);
  EXPECT_EQ(rule.factors[rule.operands[0][2][1]].kind, FactorKind::kWhole);
  EXPECT_EQ(rule.operands[2][2], rule.operands[3][2]);
  EXPECT_EQ(CheckRule(op), absl::OkStatus());
}

// Scales of one side in larger blocks, of one side only, of none.
TEST(ScaledDotRule, OtherBlocks) {
  const DotDimensionNumbers plain{.lhs_contracting = {1},
                                  .rhs_contracting = {0}};
  for (const auto& [lhs, rhs] :
       std::vector<std::pair<std::string, std::string>>{
           {"f32[6,12]", "f32[4,8]"},
           {"f32[6,8]", "f32[1,1]"},
           {"f32[1,1]", "f32[1,1]"}}) {
    const OneOp op =
        ScaledDot({"f32[6,24]", "f32[24,8]", lhs, rhs}, plain, "f32[6,8]");
    EXPECT_FALSE(RuleFor(*Build(op).instruction).is_fallback) << lhs << rhs;
    EXPECT_EQ(CheckRule(op), absl::OkStatus()) << lhs << rhs;
  }
}

TEST(ScaledDotRule, EightBitFloats) {
  OneOp op = BlockScaledCall({"f8e4m3fn[2,8,32]", "f8e4m3fn[2,4,32]",
                              "f8e4m3fn[2,8,4]", "f8e4m3fn[2,4,4]"},
                             "f32[2,8,4]");
  EXPECT_EQ(CheckRule(op), absl::OkStatus());
}

TEST(ScaledDotRule, OtherScalesRunWhole) {
  EXPECT_TRUE(RuleFor(*Build(BlockScaledCall({"f32[8,32]", "f32[4,32]",
                                              "f32[8,5]", "f32[4,4]"},
                                             "f32[8,4]"))
                           .instruction)
                  .is_fallback);
}

}  // namespace
}  // namespace meshwright
