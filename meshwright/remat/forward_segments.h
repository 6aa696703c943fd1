// The forward pass of a step as a sequence of segments, the units of
// rematerialisation.
//
//   gpt, 12 layers:   0 embedding | 1 layer | ... | 12 layer | 13 head, loss
//
// Repeated layers are segments. What does not repeat is divided where few bytes
// pass from one side to the other, such that what is kept at their ends plus
// what lives inside of the largest segment is least. The backward pass starts
// from the last segment.
#ifndef MESHWRIGHT_REMAT_FORWARD_SEGMENTS_H_
#define MESHWRIGHT_REMAT_FORWARD_SEGMENTS_H_

#include <cstdint>
#include <vector>

#include "meshwright/analysis/roles.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

// Instead of a segment number.
inline constexpr int32_t kNotForward = -1;
// What depends on weights and constants only and is no larger than these, such
// as their conversions. It is the same in both passes.
inline constexpr int32_t kOfWeights = -2;

struct ForwardSegments {
  std::vector<int32_t> segment_of;  // By instruction id of the entry.
  int32_t count = 0;                // 0: there is no loss, or no contraction.

  bool IsForward(const Instruction& instruction) const {
    return segment_of[instruction.id] != kNotForward;
  }
};

// The forward pass is what the loss depends on, and what else comes before the
// last contraction of that: front ends compute some inputs of the backward pass
// early. Deterministic; near linear if layers repeat, else quadratic in the
// number of contractions. Requires: `module` passed Verify; `roles` are its.
ForwardSegments SegmentForward(const Module& module, const ModuleRoles& roles);

}  // namespace meshwright

#endif  // MESHWRIGHT_REMAT_FORWARD_SEGMENTS_H_
