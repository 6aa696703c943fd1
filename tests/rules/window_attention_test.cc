// cuDNN's attention with a sliding window, over the sequence.
#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "meshwright/rules/fused_attention.h"
#include "tests/rules/attention_op.h"
#include "tests/rules/lowered.h"
#include "tests/rules/rule_oracle.h"

namespace meshwright {
namespace {

// Windows of one key, within a shard, of several shards, and of all.
TEST(AttentionWindows, OverTheSequence) {
  const auto check = [](int64_t length, int64_t window, const char* mesh,
                        const AttentionCall& like) {
    AttentionCall call = like;
    call.sizes.queries = call.sizes.keys = length;
    call.mask = "CAUSAL";
    call.window = window;
    for (const bool backward : {false, true}) {
      const OneOp op = Attention(call, backward);
      EXPECT_EQ(
          KindOf(RuleFor(*Build(op).instruction), 0, call.heads_first ? 2 : 1),
          FactorKind::kExchanged);
      EXPECT_EQ(CheckRule(op, {.count = 4, .meshes = {mesh}}), absl::OkStatus())
          << length << ", " << window << " over " << mesh;
    }
  };
  const AttentionCall one{.sizes = {.batch = 1, .heads = 1, .key_heads = 1}};
  for (const int64_t window : {1, 2, 3, 5, 6, 11, 16}) {
    check(16, window, "4", one);
  }
  check(8, 5, "8", one);
  check(6, 3, "3", one);
  check(8, 3, "a=2,b=2", {.sizes = {.heads = 8, .key_heads = 2}});
  check(8, 6, "a=2,b=2", {.heads_first = true});
}

// With a bias, one for all of the batch and the heads too, whose gradient is a
// sum; and with lengths, of which some end in the halo or before it.
TEST(AttentionWindows, WithBiasOrLengths) {
  for (const bool backward : {false, true}) {
    for (const int64_t window : {1, 3, 6, 16}) {
      AttentionCall call{.sizes = {.queries = 16, .keys = 16},
                         .mask = "CAUSAL",
                         .window = window};
      for (const char* bias : {"f32[4,4,16,16]", "f32[1,4,16,16]"}) {
        call.bias = bias;
        const OneOp op = Attention(call, backward);
        EXPECT_EQ(KindOf(RuleFor(*Build(op).instruction), 0, 1),
                  FactorKind::kExchanged);
        EXPECT_EQ(CheckRule(op, {.count = 4, .meshes = {"4"}}),
                  absl::OkStatus())
            << bias << ", " << window << (backward ? " backward" : "");
      }
      call.bias = "";
      call.mask = "PADDING_CAUSAL";
      call.lengths = true;
      OneOp op = Attention(call, backward);
      const int32_t lengths = static_cast<int32_t>(op.operands.size()) - 2;
      for (int32_t i = lengths; i < lengths + 2; ++i) {
        op.draws[i] = [next = 0](Random&) mutable {
          constexpr std::array<double, 4> kLengths = {5, 16, 1, 10};
          return kLengths[next++ % 4];
        };
      }
      EXPECT_EQ(CheckRule(op, {.count = 4, .meshes = {"4"}}), absl::OkStatus())
          << "lengths, " << window << (backward ? " backward" : "");
    }
  }
}

// Every device has a seed of its own, forward and backward the same.
TEST(AttentionWindows, ShardsDropByTheirOwnSeed) {
  std::vector<std::string> seeds[2];
  for (const bool backward : {false, true}) {
    const OneOp op = WithDropout(
        Attention({.mask = "CAUSAL", .window = 3}, backward), backward);
    const LoweredOp lowered = LowerOp(op, 0, 1, *Mesh::Parse("4"));
    EXPECT_EQ(KindOf(lowered.rule, 0, 1), FactorKind::kExchanged);
    seeds[backward] = SeedsIn(lowered.program->module);
  }
  EXPECT_EQ(seeds[0], seeds[1]);
  EXPECT_EQ(std::set<std::string>(seeds[0].begin(), seeds[0].end()).size(), 4);
}

// Shards of whole tiles are fetched whole tiles for.
TEST(AttentionWindows, ComputeLittleMoreThanTheirShard) {
  for (const bool backward : {false, true}) {
    const OneOp op = Attention({.sizes = {.queries = 2048, .keys = 2048},
                                .mask = "CAUSAL",
                                .window = 65},
                               backward);
    const LoweredOp lowered = LowerOp(op, 0, 1, *Mesh::Parse("4"));
    int64_t calls = 0;
    for (const auto& instruction :
         lowered.program->module.computations().back()->instructions()) {
      const auto call = ReadFusedAttention(*instruction);
      if (!call.has_value()) continue;
      ++calls;
      EXPECT_EQ(call->queries, 512 + 64);
      EXPECT_EQ(call->window, 65);
    }
    EXPECT_EQ(calls, 1);
  }
}

}  // namespace
}  // namespace meshwright
