// Packed sequences in attention by position, for attention with materialised
// scores (expand_attention.cc).
#ifndef MESHWRIGHT_EXPAND_PACKED_POSITIONS_H_
#define MESHWRIGHT_EXPAND_PACKED_POSITIONS_H_

#include <cstdint>

#include "meshwright/program/local_builder.h"

namespace meshwright {

// Of queries or of keys.
struct PackedPositions {
  // By segment, in one list.
  // s32[n], relative to the start of the first row.
  Instruction* start = nullptr;
  Instruction* length = nullptr;  // s32[n]
  // By position.
  // s32[batch,sequence], from 1; 0: in no segment.
  Instruction* segment = nullptr;
  // s32[batch,sequence], relative to the segment.
  Instruction* within = nullptr;
};

// From the kernel's lists (rules/packed_segments.h); `stride` is the number of
// elements per position.
PackedPositions FindPositions(Instruction* lengths, Instruction* offsets,
                              int64_t sequence, int64_t stride,
                              LocalBuilder& builder);

// Converts [batch,heads,queries] to the kernel's [n,heads,queries], where each
// segment begins at 0; and back.
Instruction* BySegment(Instruction* by_position, const PackedPositions& queries,
                       LocalBuilder& builder);
Instruction* ByPosition(Instruction* by_segment, const PackedPositions& queries,
                        LocalBuilder& builder);

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPAND_PACKED_POSITIONS_H_
