// A step whose backward pass computes again what it needs of the forward pass,
// instead of keeping it: less memory for more time.
//
//   MW_ASSIGN_OR_RETURN(Module lean, RecomputeForward(step, Recompute::kFull));
//
// It takes and gives what the step does. Of every segment of the forward pass
// (forward_segments.h) but the last, backward reads a copy, computed from what
// comes into the segment when the gradient of what leaves it is there:
//
//   x1 = tanh(dot(x0, w))       kept: x0, x1
//   ...
//   g1 = the gradient of x1
//   y0 = barrier(x0, g1)        not before g1, and not the same as x0
//   y1 = tanh(dot(y0, w))       computed again
//   g0 = dot(g1 * (1 - y1 * y1), w)
#ifndef MESHWRIGHT_REMAT_RECOMPUTE_H_
#define MESHWRIGHT_REMAT_RECOMPUTE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

enum class Recompute : uint8_t {
  kNone,
  kSelective,  // All but contractions that take longer than a read of them.
  kFull,       // All.
};

// "none", "selective", "full".
absl::string_view Name(Recompute recompute);
// "light" is read as "selective". kInvalidArgument for other names.
absl::StatusOr<Recompute> ParseRecompute(absl::string_view name);

// Deterministic. kFailedPrecondition when there is nothing to compute again: no
// loss, no backward pass, a single segment.
// Requires: `module` passed Verify; not kNone.
absl::StatusOr<Module> RecomputeForward(const Module& module,
                                        Recompute recompute);

}  // namespace meshwright

#endif  // MESHWRIGHT_REMAT_RECOMPUTE_H_
