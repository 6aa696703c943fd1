// The strategies that experts write by hand, as demands on a plan.
#ifndef MESHWRIGHT_SEARCH_EXPERT_H_
#define MESHWRIGHT_SEARCH_EXPERT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "meshwright/search/demands.h"
#include "meshwright/search/step_model.h"

namespace meshwright {

enum class Expert : uint8_t {
  kAuto,      // No demand.
  kDp,        // The batch over all devices, all state on each.
  kZero2,     // The same, optimizer state and gradients split.
  kZero3,     // The same, weights split too.
  kMegatron,  // The batch over one axis, weights over the other.
  kSequence,  // The same, and the sequence over the second axis.
  kVolume,    // No demand, but the fewest bytes on the wire.
};

// "auto", "dp", ...; also what others call them: "ddp" is dp, "zero1" zero2
// (see RemarkOn), "fsdp" zero3, "tp" megatron, "sp" sequence. kInvalidArgument
// lists them.
absl::StatusOr<Expert> ParseExpert(absl::string_view name);
absl::string_view Name(Expert expert);
// What a user of this name should know of what it is here; empty if nothing.
std::string RemarkOn(absl::string_view name);
std::vector<std::string> ExpertNames();

// How many axes its meshes have.
int AxesFor(Expert expert);

// On `mesh`, whose first axis is the batch's. `model` and `mesh` outlive it.
Demand DemandOf(Expert expert, const StepModel& model, const Mesh& mesh);

}  // namespace meshwright

#endif  // MESHWRIGHT_SEARCH_EXPERT_H_
