// A variant of the step: with a micro-batch count and a rematerialisation
// policy, modelled for the search.
#ifndef MESHWRIGHT_PLANNER_STEP_VARIANT_H_
#define MESHWRIGHT_PLANNER_STEP_VARIANT_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "meshwright/hlo/module.h"
#include "meshwright/planner/planner.h"
#include "meshwright/search/step_model.h"

namespace meshwright {

// Settings common to all variants of a step.
struct StepContext {
  FusionStyle style;
  std::optional<MeshPins> pins;  // On instructions of the given step.
  // As in MicroBatchOptions.
  int64_t row_blocks = 1;
};

struct StepVariant {
  int64_t count = 1;
  Recompute recompute = Recompute::kNone;
  PlannedStep step;
  std::optional<MeshPins> pins;  // On instructions of `step`.
  StepModel model;               // Of `step`.
  double flops = 0;              // Of the whole step.

  // Errors as PlannedStep::Of. `module` must outlive the result.
  static absl::StatusOr<std::shared_ptr<const StepVariant>> Of(
      const Module& module, int64_t count, Recompute recompute,
      const StepContext& context);
  // For a module to which `recompute` has been applied already.
  static absl::StatusOr<std::shared_ptr<const StepVariant>> Recomputing(
      const Module& module, int64_t count, Recompute recompute,
      const StepContext& context);
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_STEP_VARIANT_H_
