// cuDNN's fused attention, as XLA calls it.
//
//   __cudnn$fmhaSoftmax           q k v [bias] [lengths] [offsets]
//                                 -> out [log-sum-exp] workspace
//   __cudnn$fmhaSoftmaxBackward   q k v log-sum-exp gradient [bias] out
//                                 [lengths] [offsets]
//                                 -> dq dk dv [dbias] workspace
//
// `ScaleBias` and `Dropout` are part of the name if the call has them; `F8` at
// its end is the variant with operands of its own. Operands are [batch,
// sequence, heads, size] or [batch, heads, sequence, size]; results are always
// the latter. The configuration repeats the sizes of the scores.
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

// The meaning of an operand or result.
enum class AttentionPart {
  kQuery,        // [b,t,n,h], also its gradient as [b,n,t,h].
  kKey,          // [b,s,m,h]
  kValue,        // [b,s,m,v]
  kOutput,       // [b,t,n,v], also its gradient.
  kLogSumExp,    // [b,n,t]
  kBias,         // [b,n,t,s]; size 1 where it is broadcast.
  kLengths,      // [b]; of packed segments [b,segments].
  kOffsets,      // [b,segments+1], in elements of heads times size.
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
  int64_t window = 0;    // How many keys a query attends to; 0: all.
  int64_t segments = 1;  // Packed per sequence.

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

  // Of two matmuls forward, five backward; of each, what a causal mask (half)
  // and a window leave.
  double Flops() const;
  // The index of the operand with this meaning, or -1.
  int32_t OperandOf(AttentionPart part) const;
};

// The leading factors of its rule: batch, key heads, query heads per key head,
// queries.
inline constexpr int32_t kAttentionShards = 4;

// nullopt for another instruction, or if its operands are not as described
// above.
std::optional<FusedAttention> ReadFusedAttention(
    const Instruction& instruction);

bool IsFusedAttention(const Instruction& instruction);

// Its configuration with other sizes, and with or without a causal mask.
std::string AttentionConfig(const Instruction& instruction, int64_t batch,
                            int64_t heads, int64_t queries, int64_t keys,
                            bool causal);

// A configuration with another seed.
std::string ConfigWithSeed(const std::string& config, int64_t seed);

// The note for plans of modules with dropout in attention; empty if `module`
// has none, or neither devices nor micro-batches split it. Shards may have
// seeds in common (dropout_seeds.h), and micro-batches do.
std::string DropoutNote(const Module& module, int64_t devices,
                        int64_t micro_batches);

// Sets all dropout rates of attention to 0; returns whether any was different.
bool SwitchOffDropout(Module& module);

}  // namespace meshwright

#endif  // MESHWRIGHT_RULES_FUSED_ATTENTION_H_
