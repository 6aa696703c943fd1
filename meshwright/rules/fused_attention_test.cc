// Attention: what is computed of it, and what is said of its dropout.
#include "meshwright/rules/fused_attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <utility>

#include "meshwright/rules/attention_for_test.h"

namespace meshwright {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

FusedAttention Attention(int64_t queries, int64_t keys, bool causal,
                         int64_t window) {
  FusedAttention attention;
  attention.batch = 2;
  attention.query_heads = attention.key_heads = 3;
  attention.size = attention.value_size = 5;
  attention.queries = queries;
  attention.keys = keys;
  attention.causal = causal;
  attention.window = window;
  return attention;
}

// Pairs of a query and a key that are not masked.
double Pairs(const FusedAttention& attention) {
  double pairs = 0;
  for (int64_t query = 0; query < attention.queries; ++query) {
    for (int64_t key = 0; key < attention.keys; ++key) {
      const bool later = attention.causal && key > query;
      const bool far = attention.window > 0 && key + attention.window <= query;
      pairs += !later && !far;
    }
  }
  return pairs;
}

TEST(AttentionFlops, CountWhatMasksLeave) {
  for (const auto& [queries, keys] :
       {std::pair<int64_t, int64_t>{512, 512}, {512, 256}, {256, 512}}) {
    for (const bool causal : {false, true}) {
      for (const int64_t window : {0, 32, 200, 512, 4096}) {
        if (causal && window == 0 && queries != keys) continue;  // Half.
        const FusedAttention one = Attention(queries, keys, causal, window);
        const double exact = 2 * 3 * Pairs(one) * 2 * (5 + 5);
        EXPECT_NEAR(one.Flops() / exact, 1, 0.02)
            << queries << " " << keys << " " << causal << " " << window;
      }
    }
  }
}

TEST(AttentionFlops, AWideWindowIsNoWindow) {
  for (const int64_t window : {64, 1000}) {
    EXPECT_EQ(Attention(64, 64, true, window).Flops(),
              Attention(64, 64, true, 0).Flops());
    EXPECT_EQ(Attention(64, 64, false, window).Flops(),
              Attention(64, 64, false, 0).Flops());
  }
}

TEST(DropoutNoteTest, SaysWhatIsShared) {
  const AttentionForTest dropped(64, /*dropout=*/0.5);
  const auto note = [&](int64_t devices, int64_t micro_batches) {
    return DropoutNote(dropped.module, devices, micro_batches);
  };
  EXPECT_EQ(note(1, 1), "");
  EXPECT_THAT(note(16, 1), HasSubstr("as many and as random"));
  EXPECT_THAT(note(32, 1), AllOf(HasSubstr("those 16 apart drop the same"),
                                 Not(HasSubstr("as random"))));
  EXPECT_THAT(note(1, 4), AllOf(HasSubstr("all micro-batches drop the same"),
                                Not(HasSubstr("as random"))));
  EXPECT_EQ(DropoutNote(AttentionForTest(64).module, 32, 4), "");
}

}  // namespace
}  // namespace meshwright
