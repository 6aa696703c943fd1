// Recipes for parallelism that experts write by hand, as requirements on a
// plan.
#ifndef MESHWRIGHT_SEARCH_EXPERT_H_
#define MESHWRIGHT_SEARCH_EXPERT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "meshwright/search/requirements.h"
#include "meshwright/search/step_model.h"

namespace meshwright {

enum class Expert : uint8_t {
  kAuto,      // No requirement.
  kDp,        // The batch over all devices; state replicated.
  kZero2,     // As kDp; optimizer state and gradients sharded.
  kZero3,     // As kZero2; weights sharded too.
  kMegatron,  // The batch over one axis, weights over the other, if any.
  kSequence,  // As kMegatron, and the sequence over the second axis.
  kVolume,    // No requirement; minimises bytes sent instead of time.
};

// "auto", "dp", ..., and common aliases: "ddp" is dp, "zero1" zero2 (see
// RemarkOn), "fsdp" zero3, "tp" megatron, "sp" sequence. kInvalidArgument lists
// them.
absl::StatusOr<Expert> ParseExpert(absl::string_view name);
absl::string_view Name(Expert expert);
// How the strategy of this name differs from what a user may expect of the
// name; empty if it does not.
std::string RemarkOn(absl::string_view name);
std::vector<std::string> ExpertNames();

// Whether weights are split over an axis beside the batch's, as tensor
// parallelism does.
bool SplitsWeights(Expert expert);
// Whether it sets requirements on a plan.
bool IsRecipe(Expert expert);

// The requirement on `mesh`, whose axes have the purposes of AxesOf
// (expert_axes.h). `model` and `mesh` must outlive the result.
Requirement RequirementOf(Expert expert, const StepModel& model,
                          const Mesh& mesh, std::optional<int32_t> batch_axis);

}  // namespace meshwright

#endif  // MESHWRIGHT_SEARCH_EXPERT_H_
