// A sharded sequence in zig-zag order, in which causal attention gives every
// device the same work: each device has one half shard from either end.
//
//   4 devices, eighths of the sequence    0 1 | 2 3 | 4 5 | 6 7
//   folded                                0 7 | 1 6 | 2 5 | 3 4
//
// The halves of a shard stay in the order of the sequence. Two
// collective-permutes move them: one of all first halves, which are the even
// eighths, and one of all second halves.
#ifndef MESHWRIGHT_RULES_FOLD_SEQUENCE_H_
#define MESHWRIGHT_RULES_FOLD_SEQUENCE_H_

#include <cstdint>

#include "meshwright/program/local_builder.h"

namespace meshwright {

// The first and the second half of a shard along a dimension.
struct Halves {
  Instruction* early = nullptr;
  Instruction* late = nullptr;
};

// Requires: the dimension's size is even.
Halves HalvesOf(Instruction* value, int64_t dimension, LocalBuilder& builder);

// Requires: `value` is sharded over `axes` along `dimension`.
Instruction* FoldSequence(Instruction* value, int64_t dimension,
                          const AxisList& axes, LocalBuilder& builder);
// The inverse.
Instruction* UnfoldSequence(Instruction* value, int64_t dimension,
                            const AxisList& axes, LocalBuilder& builder);

}  // namespace meshwright

#endif  // MESHWRIGHT_RULES_FOLD_SEQUENCE_H_
