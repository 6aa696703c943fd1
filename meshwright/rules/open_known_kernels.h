// Kernels whose bodies are better known than they are themselves.
//
//   y = f32[8,64] call(x), to_apply=body, frontend_attributes={
//       mw.kernel="softmax",mw.rule="b n -> b n",mw.transparent="true"}
//   body: te_scaled_softmax_forward_ffi(x), which call_table.h has a rule for
//
// A function with JAX's custom_partitioning is a kernel with the rule that is
// meant for propagation, and with bodies for some of its splits. If it is
// around calls of a library, their own rules say more: for which results are
// sums or maxima, and without a body for each shape.
#ifndef MESHWRIGHT_RULES_OPEN_KNOWN_KERNELS_H_
#define MESHWRIGHT_RULES_OPEN_KNOWN_KERNELS_H_

#include "meshwright/hlo/module.h"

namespace meshwright {

// Frontend attribute of a kernel that may be replaced by its body.
inline constexpr char kTransparentAttribute[] = "mw.transparent";

// Makes such kernels ordinary calls if their bodies have custom calls of
// libraries, or with recorded rules, and none without a rule.
void OpenKnownKernels(Module& module);

}  // namespace meshwright

#endif  // MESHWRIGHT_RULES_OPEN_KNOWN_KERNELS_H_
