#include "meshwright/runtime/synthetic_inputs.h"

#include <map>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "meshwright/analysis/index_range.h"
#include "meshwright/analysis/sign.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/state/synthetic.h"

namespace meshwright {

absl::Status ForEachSynthetic(
    const Module& module, const ModuleRoles& roles, uint64_t seed,
    const std::function<absl::Status(int64_t number, Tensor tensor)>& set) {
  const std::map<int64_t, int64_t> bounds = IndexBounds(module);
  const std::set<int64_t> non_negative = NonNegativeParameters(module);
  for (const Instruction* parameter : module.entry()->Parameters()) {
    const int64_t number = parameter->attributes->parameter_number;
    SyntheticOptions options;
    if (const auto bound = bounds.find(number); bound != bounds.end()) {
      options.bound = bound->second;
    }
    options.non_negative = non_negative.contains(number);
    MW_RETURN_IF_ERROR(set(
        number, MakeSynthetic(parameter->shape, roles.parameters[number].name,
                              seed, options)));
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> FindParameter(const ModuleRoles& roles,
                                      absl::string_view name) {
  for (size_t i = 0; i < roles.parameters.size(); ++i) {
    if (roles.parameters[i].name == name) return static_cast<int64_t>(i);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the module has no parameter \"", name,
                   "\"; `meshwright inspect` lists them"));
}

absl::StatusOr<NamedArray> FindReadable(const ModuleRoles& roles,
                                        absl::string_view name) {
  for (size_t i = 0; i < roles.parameters.size(); ++i) {
    const ParameterInfo& one = roles.parameters[i];
    if (one.name == name && one.role == ParameterRole::kState) {
      return NamedArray{.is_state = true, .index = static_cast<int64_t>(i)};
    }
  }
  for (size_t i = 0; i < roles.outputs.size(); ++i) {
    if (roles.outputs[i].name == name) {
      return NamedArray{.index = static_cast<int64_t>(i)};
    }
  }
  return absl::NotFoundError(
      absl::StrCat(name, ": the step has no state or output of that name"));
}

}  // namespace meshwright
