// Packed sequences in attention, position by position, where all scores are in
// memory (expand_attention.cc).
#ifndef MESHWRIGHT_EXPAND_PACKED_POSITIONS_H_
#define MESHWRIGHT_EXPAND_PACKED_POSITIONS_H_

#include <cstdint>

#include "meshwright/program/local_builder.h"

namespace meshwright {

// Of queries or of keys.
struct PackedPositions {
  // By segment, in one list.
  Instruction* start = nullptr;   // s32[n], counted from the first row's first.
  Instruction* length = nullptr;  // s32[n]
  // By position.
  Instruction* segment = nullptr;  // s32[batch,sequence], from 1; 0 for none.
  Instruction* within = nullptr;   // s32[batch,sequence], from the segment's 0.
};

// From the kernel's lists (rules/packed_segments.h); `stride` is the number of
// elements of a position.
PackedPositions FindPositions(Instruction* lengths, Instruction* offsets,
                              int64_t sequence, int64_t stride,
                              LocalBuilder& builder);

// [batch,heads,queries] as the kernel's [n,heads,queries], where each segment
// begins at 0; and back.
Instruction* BySegment(Instruction* by_position, const PackedPositions& queries,
                       LocalBuilder& builder);
Instruction* ByPosition(Instruction* by_segment, const PackedPositions& queries,
                        LocalBuilder& builder);

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPAND_PACKED_POSITIONS_H_
