// Splits the scans over layers of a step into pieces, so that pipeline stages
// can each have some; with them the arrays that are stacked along the scanned
// dimension.
//
//   state w f32[12,64,64], m f32[12,64,64]; loops of 12, split at 6
//   -> state w[0:6], w[6:12], m[0:6], m[6:12], each f32[6,64,64];
//      loops of 6, each reading and writing its own; the optimizer in parts
//
// A piece of a single iteration is no loop any more. Loop-carried values are
// passed from piece to piece; loop-invariant ones are given to all.
#ifndef MESHWRIGHT_LOOPS_SPLIT_LOOPS_H_
#define MESHWRIGHT_LOOPS_SPLIT_LOOPS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/hlo/module.h"
#include "meshwright/loops/stacked_splits.h"

namespace meshwright {

// What a parameter or output of the step became: a single one, or consecutive
// ones that hold its parts along a dimension.
struct TensorParts {
  int64_t first = 0;            // Index of the first.
  int64_t dimension = 0;        // That is divided.
  std::vector<int64_t> bounds;  // Empty: it is not divided.

  int64_t count() const {
    return bounds.empty() ? 1 : static_cast<int64_t>(bounds.size()) - 1;
  }
  bool operator==(const TensorParts&) const = default;
};

struct SplitStep {
  Module module;
  // By parameter of the step, and by leaf of its root.
  std::vector<TensorParts> parameters;
  std::vector<TensorParts> outputs;

  // Whether loops were split. Tensors need not be then: loops over time share
  // their weights.
  bool has_split_loops = false;
};

// "blocks/w", 6, 12 -> "blocks/w[6:12]".
std::string PartName(const std::string& name, int64_t begin, int64_t end);

// Sums over a divided dimension are computed by part first; everything else is
// computed as before. Frontend attributes of the step's parameters and outputs
// are copied to their parts, whose names (mw.name, mw.outputs) are PartName of
// the originals. Requires: the module passed Verify and has no calls; its
// parameters are arrays, its root is a flat tuple.
absl::StatusOr<SplitStep> SplitLoops(const Module& module,
                                     const LoopSplitOptions& options);

}  // namespace meshwright

#endif  // MESHWRIGHT_LOOPS_SPLIT_LOOPS_H_
