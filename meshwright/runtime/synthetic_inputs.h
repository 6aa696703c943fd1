// The parameters of a step by number: their names, and synthetic values for
// them.
#ifndef MESHWRIGHT_RUNTIME_SYNTHETIC_INPUTS_H_
#define MESHWRIGHT_RUNTIME_SYNTHETIC_INPUTS_H_

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "meshwright/analysis/roles.h"
#include "meshwright/hlo/module.h"
#include "meshwright/state/tensor.h"

namespace meshwright {

// Calls `set` with a synthetic value (state/synthetic.h) for every parameter of
// the module, until it fails. Values are well conditioned for their uses:
// weights scaled by their number of summed products, multiplicative factors
// near one (analysis/value_scale.h), operands of roots non-negative. Requires:
// parameters are arrays.
absl::Status ForEachSynthetic(
    const Module& module, const ModuleRoles& roles, uint64_t seed,
    const std::function<absl::Status(int64_t number, Tensor tensor)>& set);

// kInvalidArgument if no parameter has this name.
absl::StatusOr<int64_t> FindParameter(const ModuleRoles& roles,
                                      absl::string_view name);

// What is read under a name: a state parameter, or else an output.
struct NamedArray {
  bool is_state = false;
  int64_t index = 0;  // Of the parameter, or the output.
};
// kNotFound if there is none.
absl::StatusOr<NamedArray> FindReadable(const ModuleRoles& roles,
                                        absl::string_view name);

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_SYNTHETIC_INPUTS_H_
