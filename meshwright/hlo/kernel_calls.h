// Kernels: calls whose program depends on the shapes it sees, with a body for
// each combination of shapes that sharding may require.
//
// In a file a kernel is a call of the body for its own shapes. Attributes give
// its name and the computations that are its bodies for other shapes
// (variants):
//
//   y = f32[64,128] call(x, scale), to_apply=norm.1, frontend_attributes={
//       mw.kernel="norm",mw.rule="b n, n -> b n",mw.variants="norm.2,norm.3"}
//
// During planning it is one operation that calls all of them:
//
//   y = f32[64,128] custom-call(x, scale), custom_call_target="norm",
//       called_computations={norm.1, norm.2, norm.3}
//
// It is sharded like any operation, into the same operation on smaller shapes.
// Finally it becomes a call again, of the body that fits.
#ifndef MESHWRIGHT_HLO_KERNEL_CALLS_H_
#define MESHWRIGHT_HLO_KERNEL_CALLS_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

// Frontend attributes of a kernel's call: its name, and the names of the
// computations that are its other bodies, separated by commas.
inline constexpr char kKernelAttribute[] = "mw.kernel";
inline constexpr char kVariantsAttribute[] = "mw.variants";

// Frontend attribute of a kernel that has no bodies for some of its splits,
// since lowering makes only so many: "PARTS,LIMIT", the fewest parts of such a
// split, and the limit with which all would have one.
inline constexpr char kVariantLimitAttribute[] = "mw.variant_limit";

struct VariantLimit {
  int64_t parts = 0;
  int64_t for_all = 0;
};

// nullopt if the attribute is missing or malformed.
std::optional<VariantLimit> VariantLimitOf(const Instruction& kernel);

// Whether the instruction is a kernel in its form as one operation.
bool IsKernel(const Instruction& instruction);
bool HasKernels(const Module& module);

// The body for the shapes that the kernel has; null if there is none, or the
// instruction is not a kernel.
const Computation* KernelBody(const Instruction& kernel);

// Makes every kernel one operation. kInvalidArgument, naming the call, if it
// names a computation that does not exist.
absl::Status CallsToKernels(Module& module);

// Makes a kernel a call of its body. Other bodies stay in the module until
// Finish(). Requires: it has a body.
void KernelToCall(Instruction& kernel);
void KernelsToCalls(Module& module);  // All of them.

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_KERNEL_CALLS_H_
