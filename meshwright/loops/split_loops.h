// A step whose loops over layers are cut into pieces, so that a pipeline can
// have them on different stages; and the arrays stacked on the loops' axis with
// them.
//
//   state w f32[12,64,64], m f32[12,64,64]; loops of 12, cut at 6
//   -> state w[0:6], w[6:12], m[0:6], m[6:12], each f32[6,64,64];
//      loops of 6, each reading and writing its own; the optimizer in parts
//
// A piece of a single iteration is no loop any more. What a piece does not
// read slot by slot is handed from piece to piece, or given to all.
#ifndef MESHWRIGHT_LOOPS_SPLIT_LOOPS_H_
#define MESHWRIGHT_LOOPS_SPLIT_LOOPS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/hlo/module.h"
#include "meshwright/loops/stacked_cuts.h"

namespace meshwright {

// What a parameter or an output of the step became: one as before, or
// consecutive ones that hold its parts along a dimension.
struct TensorParts {
  int64_t first = 0;            // Number of the first.
  int64_t dimension = 0;        // Along which it is cut.
  std::vector<int64_t> bounds;  // Empty: it is whole.

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

  // Its tensors need not be: loops over time share their weights.
  bool has_cut_loops = false;
};

// "blocks/w", 6, 12 -> "blocks/w[6:12]".
std::string PartName(const std::string& name, int64_t begin, int64_t end);

// Sums over a cut dimension are summed by part first; all else is computed as
// before. Frontend attributes of the step's parameters and outputs go on to
// the parts, whose names (mw.name, mw.outputs) are PartName of these.
// Requires: the module passed Verify and has no calls; its parameters are
// arrays, its root is a flat tuple.
absl::StatusOr<SplitStep> SplitLoops(const Module& module,
                                     const LoopSplitOptions& options);

}  // namespace meshwright

#endif  // MESHWRIGHT_LOOPS_SPLIT_LOOPS_H_
