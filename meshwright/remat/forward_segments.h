// The forward pass of a step, cut into segments one after another.
//
//   gpt, 12 layers:   0 embedding | 1 layer | ... | 12 layer | 13 head, loss
//
// Layers that repeat are segments; what does not repeat is cut where little
// passes from one side to the other, so that what is kept at the cuts and what
// lies inside the largest segment are least together. The last segment is what
// backward starts from.
#ifndef MESHWRIGHT_REMAT_FORWARD_SEGMENTS_H_
#define MESHWRIGHT_REMAT_FORWARD_SEGMENTS_H_

#include <cstdint>
#include <vector>

#include "meshwright/analysis/roles.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

// In place of a segment.
inline constexpr int32_t kNotForward = -1;
// What weights and constants alone make, and is no larger than these: their
// conversions, say. It is the same in both passes.
inline constexpr int32_t kOfWeights = -2;

struct ForwardSegments {
  std::vector<int32_t> segment_of;  // By instruction id of the entry.
  int32_t count = 0;                // 0: there is no loss, or no contraction.

  bool IsForward(const Instruction& instruction) const {
    return segment_of[instruction.id] != kNotForward;
  }
};

// Forward is what the loss is made of, and what else comes before the last
// contraction of that: front ends compute some of what backward needs early.
// Deterministic; near linear where layers repeat, else quadratic in the
// contractions. Requires: `module` passed Verify; `roles` are its.
ForwardSegments CutForward(const Module& module, const ModuleRoles& roles);

}  // namespace meshwright

#endif  // MESHWRIGHT_REMAT_FORWARD_SEGMENTS_H_
