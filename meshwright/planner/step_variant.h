// A variant of the step: with a micro-batch count and a rematerialisation
// policy, modelled for the search.
#ifndef MESHWRIGHT_PLANNER_STEP_VARIANT_H_
#define MESHWRIGHT_PLANNER_STEP_VARIANT_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/hlo/module.h"
#include "meshwright/planner/planner.h"
#include "meshwright/search/step_model.h"

namespace meshwright {

// Settings common to all variants of a step.
struct StepContext {
  FusionStyle style;
  std::optional<MeshPins> pins;  // On instructions of the given step.
};

struct StepVariant {
  int64_t count = 1;
  Recompute recompute = Recompute::kNone;
  PlannedStep step;
  std::optional<MeshPins> pins;  // On instructions of `step`.
  StepModel model;               // Of `step`.
  double flops = 0;              // Of the whole step.

  // Errors as PlannedStep::Of. `module` must outlive the result. `known`:
  // variants of the same rematerialisation policy; if the one without
  // micro-batches is among them, its rematerialised module is reused.
  static absl::StatusOr<std::shared_ptr<const StepVariant>> Of(
      const Module& module, int64_t count, Recompute recompute,
      const StepContext& context,
      const std::map<int64_t, std::shared_ptr<const StepVariant>>& known = {});
  // For a module to which `recompute` has been applied already.
  static absl::StatusOr<std::shared_ptr<const StepVariant>> Recomputing(
      const Module& module, int64_t count, Recompute recompute,
      const StepContext& context);
};

// By micro-batch count.
using StepVariants = std::map<int64_t, std::shared_ptr<const StepVariant>>;

// Adds the `wanted` variants (micro-batch count, policy) that are possible to
// `variants`; makes several concurrently.
void MakeVariants(const Module& module, const StepContext& context,
                  const std::vector<std::pair<int64_t, Recompute>>& wanted,
                  std::map<Recompute, StepVariants>& variants);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_STEP_VARIANT_H_
