#include "meshwright/rules/shape_bound.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "meshwright/hlo/kernel_calls.h"

namespace meshwright {
namespace {

constexpr std::array kShapeBoundTargets = std::to_array<absl::string_view>({
    // Triton, by Pallas and jax-triton.
    "__gpu$xla.gpu.triton",
    "triton_kernel_call",
    "triton_kernel_call_ffi",
    // Mosaic, by Pallas for GPUs and for TPUs.
    "mosaic_gpu",
    "mosaic_gpu_v2",
    "tpu_custom_call",
});

}  // namespace

bool IsShapeBound(const Instruction& instruction) {
  return instruction.opcode == Opcode::kCustomCall && !IsKernel(instruction) &&
         std::ranges::count(kShapeBoundTargets,
                            instruction.attributes->custom_call_target) > 0;
}

absl::Status CheckMayBeSplit(const Instruction& instruction, const Rule& rule) {
  const bool may_split =
      std::ranges::any_of(rule.factors, [](const Factor& factor) {
        return factor.size > 1 && factor.kind != FactorKind::kWhole;
      });
  if (!may_split || !IsShapeBound(instruction)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the program of ", instruction.attributes->custom_call_target,
      " is for the whole shapes, so no rule can split it; wrap the function "
      "that calls it: meshwright.kernel(fn, rule=...)"));
}

}  // namespace meshwright
