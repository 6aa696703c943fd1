// cuDNN's fused attention, as XLA calls it.
//
//   __cudnn$fmhaSoftmax           q k v [bias] [lengths] [offsets]
//                                 -> out [log-sum-exp] workspace
//   __cudnn$fmhaSoftmaxBackward   q k v log-sum-exp gradient [bias] out
//                                 [lengths] [offsets]
//                                 -> dq dk dv [dbias] workspace
//
// with `ScaleBias` and `Dropout` in the name for those, and `F8` behind it,
// which has its own operands. Operands are [batch, sequence, heads, size] or
// [batch, heads, sequence, size]; results always the latter. The configuration
// repeats the sizes of the scores.
#ifndef MESHWRIGHT_RULES_FUSED_ATTENTION_H_
#define MESHWRIGHT_RULES_FUSED_ATTENTION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "meshwright/hlo/instruction.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

// What an operand or result is.
enum class AttentionPart {
  kQuery,        // [b,t,n,h], also its gradient as [b,n,t,h].
  kKey,          // [b,s,m,h]
  kValue,        // [b,s,m,v]
  kOutput,       // [b,t,n,v], also its gradient.
  kLogSumExp,    // [b,n,t]
  kBias,         // [b,n,t,s], 1 where all share it.
  kLengths,      // [b], of segments [b,segments].
  kOffsets,      // [b,segments+1], of heads times size elements.
  kScale,        // [1,1,1,1]
  kAbsoluteMax,  // [1,1,1,1]
  kWorkspace,
};

struct FusedAttention {
  bool backward = false;
  bool heads_first = false;  // Operands are [b,n,t,h].
  bool causal = false;
  bool is_f8 = false;
  double scale = 1;
  double dropout = 0;
  int64_t seed = 0;      // Of dropout.
  int64_t window = 0;    // Keys that a query sees; 0: all.
  int64_t segments = 1;  // In a sequence, packed.

  // Sizes.
  int64_t batch = 0;
  int64_t queries = 0;
  int64_t keys = 0;
  int64_t query_heads = 0;
  int64_t key_heads = 0;
  int64_t size = 0;
  int64_t value_size = 0;

  std::vector<AttentionPart> operands;
  std::vector<AttentionPart> results;

  // Two products forward, five backward; half of each if later keys are not
  // seen.
  double Flops() const;
  // The operand that is a part, or -1.
  int32_t OperandOf(AttentionPart part) const;
};

// The first factors of its rule: batch, key heads, query heads of each.
inline constexpr int32_t kAttentionShards = 3;

// nullopt for another instruction, or one that is not as expected.
std::optional<FusedAttention> ReadFusedAttention(
    const Instruction& instruction);

bool IsFusedAttention(const Instruction& instruction);

// Its configuration for other sizes, and masked or not.
std::string AttentionConfig(const Instruction& instruction, int64_t batch,
                            int64_t heads, int64_t queries, int64_t keys,
                            bool causal);

// A configuration with another seed.
std::string ConfigWithSeed(const std::string& config, int64_t seed);

// What plans with dropout should tell; empty if `module` has none in attention.
std::string DropoutNote(const Module& module);

// Sets the rates of dropout in attention to 0; whether there were others.
bool SwitchOffDropout(Module& module);

}  // namespace meshwright

#endif  // MESHWRIGHT_RULES_FUSED_ATTENTION_H_
