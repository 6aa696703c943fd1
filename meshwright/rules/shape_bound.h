// Custom calls whose program is for the shapes it was lowered for: the call
// contains compiled code and its launch grid, which calls of other shapes
// cannot use. Nor does the target say what they compute: it is the same for all
// kernels that are written in a language.
//
//   __gpu$xla.gpu.triton   a Pallas kernel on Triton: grid_x = 8, ir = "..."
//
// A rule cannot split them; meshwright.kernel can, which lowers the function
// again for each shape (hlo/kernel_calls.h).
#ifndef MESHWRIGHT_RULES_SHAPE_BOUND_H_
#define MESHWRIGHT_RULES_SHAPE_BOUND_H_

#include <string>

#include "absl/status/status.h"
#include "meshwright/rules/rule.h"

namespace meshwright {

// False for a kernel, whatever its name is: it has bodies for its shapes.
bool IsShapeBound(const Instruction& instruction);

// kInvalidArgument with advice if `rule` would split such a call.
absl::Status CheckMayBeSplit(const Instruction& instruction, const Rule& rule);

}  // namespace meshwright

#endif  // MESHWRIGHT_RULES_SHAPE_BOUND_H_
