// Rematerialisation (activation checkpointing): the backward pass recomputes
// what it needs of the forward pass instead of keeping it, which trades time
// for memory.
//
//   MW_ASSIGN_OR_RETURN(Module lean, RecomputeForward(step, Recompute::kFull));
//
// The result has the same parameters and results as the step. For every segment
// of the forward pass (forward_segments.h) but the last, the backward pass
// reads a copy, computed from the inputs of the segment once the gradient of
// its outputs is available:
//
//   x1 = tanh(dot(x0, w))       kept: x0, x1
//   ...
//   g1 = the gradient of x1
//   y0 = barrier(x0, g1)        not before g1; prevents CSE with x0
//   y1 = tanh(dot(y0, w))       rematerialised
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
  // All but contractions that take longer than reading their result.
  kSelective,
  kFull,  // Everything.
};

// "none", "selective", "full".
absl::string_view Name(Recompute recompute);
// "light" is read as "selective". kInvalidArgument for other names.
absl::StatusOr<Recompute> ParseRecompute(absl::string_view name);

// Deterministic. kFailedPrecondition if there is nothing to rematerialise: no
// loss, no backward pass, a single segment. Requires: `module` passed Verify;
// not kNone.
absl::StatusOr<Module> RecomputeForward(const Module& module,
                                        Recompute recompute);

}  // namespace meshwright

#endif  // MESHWRIGHT_REMAT_RECOMPUTE_H_
