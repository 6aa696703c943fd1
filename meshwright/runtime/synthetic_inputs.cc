#include "meshwright/runtime/synthetic_inputs.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "meshwright/analysis/index_range.h"
#include "meshwright/analysis/sign.h"
#include "meshwright/analysis/value_scale.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/state/synthetic.h"

namespace meshwright {

namespace {

// Limit for weights of contractions that sum few products.
constexpr double kLargestWeight = 0.5;

// Requirements on synthetic values from the uses of parameters.
class SyntheticForms {
 public:
  SyntheticForms(const Module& module, const ModuleRoles& roles)
      : roles_(roles),
        bounds_(IndexBounds(module)),
        non_negative_(NonNegativeParameters(module)),
        contracted_(ContractedSizes(module)),
        factors_(RepeatedFactors(module)) {}

  SyntheticOptions Of(int64_t number) const {
    SyntheticOptions options;
    if (const auto bound = bounds_.find(number); bound != bounds_.end()) {
      options.bound = bound->second;
    }
    options.non_negative = non_negative_.contains(number);
    // Data are not scaled.
    if (roles_.parameters[number].role == ParameterRole::kData) return options;
    if (const auto size = contracted_.find(number);
        size != contracted_.end() && size->second > 0) {
      options.scale = std::min(
          kLargestWeight, 1 / std::sqrt(static_cast<double>(size->second)));
    } else {
      options.near_one = factors_.contains(number);
    }
    return options;
  }

 private:
  const ModuleRoles& roles_;
  const std::map<int64_t, int64_t> bounds_;
  const std::set<int64_t> non_negative_;
  const std::map<int64_t, int64_t> contracted_;
  const std::set<int64_t> factors_;
};

}  // namespace

absl::Status ForEachSynthetic(
    const Module& module, const ModuleRoles& roles, uint64_t seed,
    const std::function<absl::Status(int64_t number, Tensor tensor)>& set) {
  const SyntheticForms forms(module, roles);
  for (const Instruction* parameter : module.entry()->Parameters()) {
    const int64_t number = parameter->attributes->parameter_number;
    MW_RETURN_IF_ERROR(set(
        number, MakeSynthetic(parameter->shape, roles.parameters[number].name,
                              seed, forms.Of(number))));
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
