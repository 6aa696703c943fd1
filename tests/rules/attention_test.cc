// cuDNN's attention: its rule, its configuration on each device, and, in terms
// of plain operations, what it computes when split; the ring with it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "meshwright/rules/dropout_seeds.h"
#include "meshwright/rules/fused_attention.h"
#include "tests/rules/attention_op.h"
#include "tests/rules/lowered.h"
#include "tests/rules/rule_oracle.h"

namespace meshwright {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

void CheckBoth(const AttentionCall& call) {
  for (const bool backward : {false, true}) {
    const OneOp op = Attention(call, backward);
    EXPECT_FALSE(RuleFor(*Build(op).instruction).is_fallback);
    EXPECT_EQ(CheckRule(op, {.count = 8, .meshes = {"a=2,b=2"}}),
              absl::OkStatus())
        << (backward ? "backward" : "forward");
  }
}

TEST(AttentionRule, BatchHeadsAndTheSequence) {
  const Rule rule = RuleFor(*Build(Attention({}, false)).instruction);
  EXPECT_EQ(KindOf(rule, 0, 0), FactorKind::kKept);
  EXPECT_EQ(KindOf(rule, 0, 1), FactorKind::kExchanged);
  EXPECT_EQ(KindOf(rule, 0, 2), FactorKind::kKept);
  EXPECT_EQ(KindOf(rule, 0, 3), FactorKind::kWhole);
  CheckBoth({});
}

TEST(AttentionRule, Causal) { CheckBoth({.mask = "CAUSAL"}); }

// Of one position each, which are no two halves; of two, and of four.
TEST(AttentionRule, CausalRings) {
  const auto check = [](int64_t length, const char* mesh) {
    const AttentionCall call{.sizes = {.batch = 1,
                                       .queries = length,
                                       .keys = length,
                                       .heads = 1,
                                       .key_heads = 1},
                             .mask = "CAUSAL"};
    for (const bool backward : {false, true}) {
      EXPECT_EQ(
          CheckRule(Attention(call, backward), {.count = 4, .meshes = {mesh}}),
          absl::OkStatus())
          << length << " over " << mesh;
    }
  };
  check(8, "8");
  check(16, "8");
  check(6, "3");
  check(12, "3");
}

// The FLOPs of the calls on one device, and those of the whole.
struct RingFlops {
  double local = 0;
  double whole = 0;
};

RingFlops FlopsOfRing(const OneOp& op, double sent_byte) {
  const LoweredOp lowered = LowerOp(op, 0, 1, *Mesh::Parse("8"), sent_byte);
  RingFlops flops{.whole =
                      ReadFusedAttention(*lowered.op.instruction)->Flops()};
  for (const auto& instruction :
       lowered.program->module.computations().back()->instructions()) {
    const auto call = ReadFusedAttention(*instruction);
    if (call.has_value()) flops.local += call->Flops();
  }
  return flops;
}

TEST(AttentionRule, CausalRingsAreBalancedIfThatIsCheaper) {
  for (const bool backward : {false, true}) {
    const OneOp op = Attention(
        {.sizes = {.queries = 64, .keys = 64}, .mask = "CAUSAL"}, backward);
    const RingFlops balanced = FlopsOfRing(op, /*sent_byte=*/0);
    EXPECT_DOUBLE_EQ(balanced.local * 8, balanced.whole);
    const RingFlops plain = FlopsOfRing(op, /*sent_byte=*/1e9);
    EXPECT_DOUBLE_EQ(plain.local * 8, plain.whole * 15 / 8);
  }
}

TEST(AttentionRule, SharedKeyHeads) {
  const AttentionCall call{.sizes = {.heads = 8, .key_heads = 2},
                           .mask = "CAUSAL"};
  CheckBoth(call);
  // The gradient of keys is a sum over query heads that share them.
  const Rule rule = RuleFor(*Build(Attention(call, true)).instruction);
  ASSERT_EQ(rule.operands[0][2].size(), 2);
  EXPECT_EQ(rule.factors[rule.operands[0][2][1]].kind, FactorKind::kReduced);
}

TEST(AttentionRule, HeadsFirst) {
  CheckBoth({.heads_first = true, .mask = "CAUSAL"});
}

TEST(AttentionRule, Bias) {
  CheckBoth({.bias = "f32[4,4,8,8]"});
  CheckBoth({.bias = "f32[1,4,8,8]"});
  CheckBoth({.bias = "f32[1,1,8,8]"});
}

// A bias of a causal mask is not folded: its ring is the plain one.
TEST(AttentionRule, BiasInRings) {
  for (const std::string& mask :
       {std::string("NO_MASK"), std::string("CAUSAL")}) {
    for (const char* bias : {"f32[4,4,8,8]", "f32[1,4,8,8]", "f32[1,1,8,8]"}) {
      const AttentionCall call{.mask = mask, .bias = bias};
      for (const bool backward : {false, true}) {
        const OneOp op = Attention(call, backward);
        EXPECT_EQ(KindOf(RuleFor(*Build(op).instruction), 0, 1),
                  FactorKind::kExchanged);
        EXPECT_EQ(CheckRule(op, {.count = 6, .meshes = {"4", "a=2,b=2"}}),
                  absl::OkStatus())
            << mask << " " << bias;
      }
    }
  }
}

TEST(AttentionRule, LengthsAndOtherKeys) {
  CheckBoth({.mask = "PADDING", .lengths = true});
  const Rule rule =
      RuleFor(*Build(Attention({.mask = "PADDING", .lengths = true}, false))
                   .instruction);
  EXPECT_EQ(KindOf(rule, 0, 1), FactorKind::kExchanged);
  CheckBoth({.sizes = {.queries = 4, .keys = 6}});
}

// Some sequences end in the first shard, some in the last, and shards may be
// padding altogether.
TEST(AttentionRule, LengthsInRings) {
  for (const char* mask : {"PADDING", "PADDING_CAUSAL"}) {
    for (const char* bias : {"", "f32[1,4,8,8]"}) {
      for (const bool backward : {false, true}) {
        const OneOp op =
            Attention({.mask = mask, .bias = bias, .lengths = true}, backward);
        EXPECT_EQ(CheckRule(op, {.count = 3, .meshes = {"4", "a=2,b=2"}}),
                  absl::OkStatus())
            << mask << " " << bias << (backward ? " backward" : "");
      }
    }
  }
}

// These values in turn.
Draw Listed(std::vector<int64_t> values) {
  return [values = std::move(values), next = size_t{0}](Random&) mutable {
    return static_cast<double>(values[next++ % values.size()]);
  };
}

// Segments of four rows of 8 positions, at most two in each: a list of lengths
// and of starts, counted from the first row, without gaps.
struct Segments {
  std::vector<int64_t> lengths;  // 8
  std::vector<int64_t> starts;   // 12
};
const Segments kFullRows{{3, 5, 2, 4, 1, 1, 7, 1},
                         {0, 3, 8, 10, 16, 20, 24, 31, 32, 32, 32, 32}};
const Segments kGaps{{8, 3, 5, 6, 2, 2, 0, 0},
                     {0, 8, 11, 16, 24, 29, 32, 32, 32, 32, 32, 32}};

OneOp Packed(const Segments& segments, const std::string& mask, bool backward) {
  const AttentionCall call{.mask = mask};
  OneOp op = Attention(call, backward);
  const std::string sum = "f32[8,4,8]";
  if (backward) {
    op.operands[3] = sum;
  } else {
    op.result = "(f32[4,4,8,3], f32[8,4,8], u8[0])";
  }
  const auto add = [&](const char* shape, std::vector<int64_t> values) {
    for (int32_t i = 0; i < 2; ++i) {
      op.draws[static_cast<int32_t>(op.operands.size())] = Listed(values);
      op.operands.emplace_back(shape);
    }
  };
  add("s32[4,2]", segments.lengths);
  std::vector<int64_t> offsets;  // Of 4 heads with 3 elements.
  for (const int64_t start : segments.starts) offsets.push_back(start * 12);
  add("s32[4,3]", offsets);
  op.set = [set = op.set](Attributes& attributes) {
    set(attributes);
    attributes.backend_config.insert(attributes.backend_config.size() - 2,
                                     R"(,"max_seg_per_batch":2)");
  };
  return op;
}

TEST(AttentionRule, PackedSequences) {
  for (const bool backward : {false, true}) {
    for (const char* mask : {"PADDING", "PADDING_CAUSAL"}) {
      const OneOp op = Packed(kFullRows, mask, backward);
      const Rule rule = RuleFor(*Build(op).instruction);
      EXPECT_EQ(KindOf(rule, 0, 0), FactorKind::kKept);
      EXPECT_EQ(KindOf(rule, 0, 1), FactorKind::kWhole);
      EXPECT_EQ(KindOf(rule, 0, 2), FactorKind::kKept);
      EXPECT_EQ(CheckRule(op, {.meshes = {"2", "4", "a=2,b=2"}}),
                absl::OkStatus());
    }
  }
}

// The log-sum-exp of rows with fewer segments has gaps in a split program.
TEST(AttentionRule, PackedRowsWithFewerSegments) {
  OneOp op = Packed(kGaps, "PADDING_CAUSAL", /*backward=*/false);
  op.workspaces = {1};
  EXPECT_EQ(CheckRule(op, {.meshes = {"2", "4", "a=2,b=2"}}), absl::OkStatus());
}

// Offsets that are not in elements of both queries and keys are left alone.
TEST(AttentionRule, PackedWithSharedKeyHeadsKeepsTheBatch) {
  OneOp op = Packed(kFullRows, "PADDING", /*backward=*/false);
  op.operands[1] = op.operands[2] = "f32[4,8,2,3]";
  const Rule rule = RuleFor(*Build(op).instruction);
  EXPECT_FALSE(rule.is_fallback);
  EXPECT_EQ(KindOf(rule, 0, 0), FactorKind::kWhole);
  EXPECT_EQ(KindOf(rule, 0, 2), FactorKind::kKept);
}

TEST(AttentionRule, ConfigurationsHaveLocalSizes) {
  OneOp op = Attention({.mask = "CAUSAL"}, false);
  const LoweredOp batch = LowerOp(op, 0, 0, *Mesh::Parse("2"));
  const Instruction* call = batch.results[0]->operands[0];
  EXPECT_THAT(call->attributes->backend_config,
              HasSubstr(R"("dimensions":["2","4","8","8"])"));
  EXPECT_THAT(call->attributes->backend_config, HasSubstr("CAUSAL"));
  // In a ring the first call alone is masked; others are of halves.
  const LoweredOp ring = LowerOp(op, 0, 1, *Mesh::Parse("4"));
  int64_t calls = 0;
  for (const auto& instruction :
       ring.program->module.computations().back()->instructions()) {
    if (instruction->opcode != Opcode::kCustomCall) continue;
    const std::string& config = instruction->attributes->backend_config;
    const bool own = calls++ == 0;
    EXPECT_THAT(config, HasSubstr(own ? R"("dimensions":["4","4","2","2"])"
                                      : R"("dimensions":["4","4","1","1"])"));
    EXPECT_THAT(config, HasSubstr(own ? "\"CAUSAL" : "\"NO_MASK"));
  }
  EXPECT_EQ(calls, 7);
}

// The configurations of a lowered conditional, by branch.
std::vector<std::string> BranchConfigs(const LoweredOp& lowered) {
  std::vector<std::string> configs;
  const Instruction* chosen = lowered.results[0]->operands[0];
  EXPECT_EQ(chosen->opcode, Opcode::kConditional);
  for (const Computation* branch : chosen->called) {
    const Instruction* call = branch->root()->operands[0]->operands[0];
    EXPECT_EQ(call->opcode, Opcode::kCustomCall);
    // The workspace is the last result, as large as it was.
    EXPECT_EQ(branch->root()->shape.tuple_shapes.back().dimensions,
              std::vector<int64_t>{0});
    configs.push_back(call->attributes->backend_config);
  }
  return configs;
}

// Every device has a seed of its own for each block of keys, forward and
// backward the same, also if causal: a balanced ring has other blocks.
TEST(AttentionRule, BlocksOfRingsDropByTheirOwnSeed) {
  for (const char* mask : {"NO_MASK", "CAUSAL"}) {
    std::vector<std::string> seeds[2];
    for (const bool backward : {false, true}) {
      const OneOp op =
          WithDropout(Attention({.mask = mask}, backward), backward);
      const LoweredOp lowered = LowerOp(op, 0, 1, *Mesh::Parse("4"));
      EXPECT_EQ(KindOf(lowered.rule, 0, 1), FactorKind::kExchanged);
      seeds[backward] = SeedsIn(lowered.program->module);
    }
    EXPECT_EQ(seeds[0], seeds[1]);
    const std::set<std::string> different(seeds[0].begin(), seeds[0].end());
    EXPECT_EQ(different.size(), 4 * 4);
  }
}

TEST(AttentionRule, ShardsDropByTheirOwnSeed) {
  for (const int64_t dimension : {0, 2}) {
    std::vector<std::string> seeds[2];
    for (const bool backward : {false, true}) {
      const OneOp op = WithDropout(Attention({}, backward), backward);
      const std::vector<std::string> configs =
          BranchConfigs(LowerOp(op, 0, dimension, *Mesh::Parse("4")));
      ASSERT_EQ(configs.size(), 4);
      for (const std::string& config : configs) {
        EXPECT_THAT(
            config,
            HasSubstr(dimension == 0 ? R"("dimensions":["1","4","8","8"])"
                                     : R"("dimensions":["4","1","8","8"])"));
        seeds[backward].push_back(config.substr(config.find("\"seed\"")));
      }
    }
    EXPECT_THAT(seeds[0][0], HasSubstr("\"seed\":42"));
    EXPECT_EQ(seeds[0], seeds[1]);
    const std::set<std::string> different(seeds[0].begin(), seeds[0].end());
    EXPECT_EQ(different.size(), 4);
  }
}

TEST(AttentionRule, ManyShardsShareSeeds) {
  const OneOp op =
      WithDropout(Attention({.sizes = {.batch = 32}}, false), false);
  const LoweredOp lowered = LowerOp(op, 0, 0, *Mesh::Parse("32"));
  EXPECT_EQ(BranchConfigs(lowered).size(), kMaxSeeds);
  EXPECT_EQ(lowered.results[0]->operands[0]->operands[0]->opcode,
            Opcode::kRemainder);
}

TEST(ShardSeed, IsOfTheShardAndWithin31Bits) {
  EXPECT_EQ(ShardSeed(42, 0), 42);
  for (const int64_t seed : {int64_t{0}, int64_t{INT32_MAX}}) {
    std::set<int64_t> found;
    for (int64_t shard = 0; shard < kMaxSeeds; ++shard) {
      const int64_t one = ShardSeed(seed, shard);
      EXPECT_GE(one, 0);
      EXPECT_LE(one, INT32_MAX);
      found.insert(one);
    }
    EXPECT_EQ(std::ssize(found), kMaxSeeds);
  }
}

// Operands and results that are not as the target and configuration say.
TEST(AttentionRule, OthersAreWhole) {
  OneOp op = Attention({}, false);
  op.operands[1] = "f32[4,8,4,5]";
  EXPECT_TRUE(RuleFor(*Build(op).instruction).is_fallback);
  op = Attention({}, false);
  op.set = [set = op.set](Attributes& attributes) {
    set(attributes);
    attributes.backend_config = "{";
  };
  EXPECT_TRUE(RuleFor(*Build(op).instruction).is_fallback);
}

}  // namespace
}  // namespace meshwright
