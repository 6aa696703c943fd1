// Custom calls whose target is known, and why programs are refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/status/status.h"
#include "meshwright/rules/refusal.h"
#include "tests/rules/lowered.h"
#include "tests/rules/rule_oracle.h"

namespace meshwright {
namespace {

using ::testing::IsEmpty;
using ::testing::StartsWith;

OneOp Call(const std::string& target, const std::vector<std::string>& operands,
           const std::string& result) {
  return {.opcode = Opcode::kCustomCall,
          .operands = operands,
          .set =
              [=](Attributes& attributes) {
                attributes.custom_call_target = target;
              },
          .result = result};
}

Rule RuleOf(const OneOp& op) { return RuleFor(*Build(op).instruction); }

TEST(CustomCallRule, ShardingIsDropped) {
  const OneOp op = Call("Sharding", {"f32[4,6]"}, "f32[4,6]");
  EXPECT_EQ(KindOf(RuleOf(op), 0, 1), FactorKind::kKept);
  EXPECT_EQ(CheckRule(op), absl::OkStatus());
}

TEST(CustomCallRule, ElementwiseTargets) {
  const OneOp op = Call("cu_threefry2x32_ffi",
                        {"u32[8,3]", "u32[8,3]", "u32[8,3]", "u32[8,3]"},
                        "(u32[8,3], u32[8,3])");
  EXPECT_EQ(KindOf(RuleOf(op), 3, 0), FactorKind::kKept);
  EXPECT_THAT(CollectivesOf(op, 0, 0, 4), IsEmpty());
  // Not with other shapes than expected.
  EXPECT_TRUE(RuleOf(Call("mhlo.erf", {"f32[8]"}, "f32[4]")).is_fallback);
}

TEST(CustomCallRule, TopK) {
  const OneOp op = Call("TopK", {"f32[4,16]"}, "(f32[4,3], s32[4,3])");
  EXPECT_EQ(KindOf(RuleOf(op), 0, 0), FactorKind::kKept);
  EXPECT_EQ(KindOf(RuleOf(op), 0, 1), FactorKind::kExchanged);
  EXPECT_EQ(CollectivesOf(op, 0, 1, 4).size(), 2);
  const OneOp fixed = Call("mhlo.topk", {"f32[4,16]"}, "(f32[4,3], s32[4,3])");
  EXPECT_EQ(KindOf(RuleOf(fixed), 0, 1), FactorKind::kWhole);
}

TEST(CustomCallRule, TableOfTargets) {
  const Rule factored = RuleOf(Call("lapack_sgetrf_ffi", {"f32[8,6,6]"},
                                    "(f32[8,6,6], s32[8,6], s32[8])"));
  EXPECT_EQ(KindOf(factored, 0, 0), FactorKind::kKept);
  EXPECT_EQ(KindOf(factored, 0, 1), FactorKind::kWhole);
  EXPECT_EQ(factored.results[2][0], factored.operands[0][0]);
  const std::string masked = "te_scaled_masked_softmax_forward_ffi";
  for (const char* mask : {"u8[4,1,16,16]", "u8[1,1,16,16]"}) {
    const Rule softmax =
        RuleOf(Call(masked, {"f16[4,8,16,16]", mask}, "f16[4,8,16,16]"));
    EXPECT_EQ(KindOf(softmax, 0, 0), FactorKind::kKept);
    EXPECT_EQ(KindOf(softmax, 0, 3), FactorKind::kWhole);
  }
  // Not with other shapes than expected.
  EXPECT_TRUE(RuleOf(Call("lapack_sgetrf_ffi", {"f32[8,6,6]"}, "f32[8,6,6]"))
                  .is_fallback);
}

TEST(CustomCallRule, PartialReduceKeepsTheBatch) {
  OneOp op = Call("ApproxTopK", {"f32[4,16]", "s32[4,16]", "f32[]", "s32[]"},
                  "(f32[4,3], s32[4,3])");
  EXPECT_TRUE(RuleOf(op).is_fallback);
  const auto set = op.set;
  op.set = [=](Attributes& attributes) {
    set(attributes);
    attributes.backend_config = R"({"top_k": 3, "reduction_dim" : 1})";
  };
  EXPECT_EQ(KindOf(RuleOf(op), 1, 0), FactorKind::kKept);
  EXPECT_EQ(KindOf(RuleOf(op), 1, 1), FactorKind::kWhole);
}

TEST(CustomCallRule, UnknownTargetsAndSideEffectsFallBack) {
  EXPECT_TRUE(RuleOf(Call("my_kernel", {"f32[4]"}, "f32[4]")).is_fallback);
  OneOp op = Call("MoveToHost", {"f32[4]"}, "f32[4]");
  EXPECT_FALSE(RuleOf(op).is_fallback);
  op.set = [](Attributes& attributes) {
    attributes.custom_call_target = "MoveToHost";
    attributes.custom_call_has_side_effect = true;
  };
  EXPECT_TRUE(RuleOf(op).is_fallback);
}

TEST(CustomCallRule, OperandLayoutsTakeLocalSizes) {
  OneOp op = Call("MoveToHost", {"f32[8,6]"}, "f32[8,6]");
  op.set = [](Attributes& attributes) {
    attributes.custom_call_target = "MoveToHost";
    attributes.constrain_layout = true;
    attributes.operand_shapes_with_layout = {ParseShape("f32[8,6]")};
  };
  const LoweredOp lowered = LowerOp(op, 0, 0, *Mesh::Parse("4"));
  const Instruction* call = lowered.results[0];
  EXPECT_EQ(call->shape.dimensions, (std::vector<int64_t>{2, 6}));
  EXPECT_EQ(call->attributes->operand_shapes_with_layout[0].dimensions,
            call->shape.dimensions);
}

TEST(GetDimensionSizeRule, SaysTheWholeSize) {
  const OneOp op{
      .opcode = Opcode::kGetDimensionSize,
      .operands = {"f32[5,6]"},
      .set = [](Attributes& attributes) { attributes.dimensions = {1}; }};
  EXPECT_THAT(CollectivesOf(op, 0, 1, 2), IsEmpty());
  EXPECT_EQ(CheckRule(op), absl::OkStatus());
}

TEST(Refusal, NamesTheReason) {
  const auto of = [](Opcode opcode) {
    Instruction instruction;
    instruction.opcode = opcode;
    instruction.shape = ParseShape("f32[4]");
    return Refusal(instruction);
  };
  EXPECT_EQ(of(Opcode::kAllReduce),
            "all-reduce: the program already communicates between devices");
  EXPECT_THAT(of(Opcode::kReplicaId), StartsWith("replica-id: "));
  EXPECT_THAT(of(Opcode::kInfeed), StartsWith("infeed: "));
  EXPECT_THAT(of(Opcode::kSetDimensionSize),
              StartsWith("set-dimension-size: "));
  EXPECT_EQ(of(Opcode::kAdd), "");
  EXPECT_EQ(of(Opcode::kRng), "");
}

TEST(Refusal, DynamicDimensionsAnywhere) {
  Instruction instruction;
  instruction.opcode = Opcode::kTuple;
  instruction.shape = ParseShape("(f32[4], f32[4])");
  EXPECT_EQ(Refusal(instruction), "");
  instruction.shape.tuple_shapes[1].dynamic_dimensions = {true};
  EXPECT_EQ(Refusal(instruction), "tuple: sizes are known only at run time");
}

TEST(Refusal, CustomCalls) {
  const auto of = [](const std::string& target, bool effects) {
    Instruction instruction;
    instruction.opcode = Opcode::kCustomCall;
    instruction.shape = ParseShape("f32[4]");
    instruction.attributes.mutate().custom_call_target = target;
    instruction.attributes.mutate().custom_call_has_side_effect = effects;
    return Refusal(instruction);
  };
  EXPECT_EQ(of("Sharding", false), "");
  EXPECT_EQ(of("my_kernel", false), "");
  EXPECT_EQ(of("callback", true),
            "custom-call callback: it has effects outside the program");
  EXPECT_EQ(of("SPMDFullToShardShape", false),
            "custom-call SPMDFullToShardShape: a part is partitioned by hand");
}

}  // namespace
}  // namespace meshwright
