// A step cut into some micro-batches, with some of it computed again, as the
// search sees it.
#ifndef MESHWRIGHT_PLANNER_CUT_STEP_H_
#define MESHWRIGHT_PLANNER_CUT_STEP_H_

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

// What all variants of a step are modelled with.
struct StepContext {
  FusionStyle style;
  std::optional<MeshPins> pins;  // On instructions of the step as it was given.
};

struct CutStep {
  int64_t count = 1;
  Recompute recompute = Recompute::kNone;
  PlannedStep step;
  std::optional<MeshPins> pins;  // On those of `step`.
  StepModel model;               // Of `step`.
  double flops = 0;              // Of it all.

  // Errors as PlannedStep::Of. `module` outlives it. Of those `known` that
  // compute as much again, the whole one tells what that is.
  static absl::StatusOr<std::shared_ptr<const CutStep>> Of(
      const Module& module, int64_t count, Recompute recompute,
      const StepContext& context,
      const std::map<int64_t, std::shared_ptr<const CutStep>>& known = {});
  // Of a module that computes so much again already.
  static absl::StatusOr<std::shared_ptr<const CutStep>> Recomputing(
      const Module& module, int64_t count, Recompute recompute,
      const StepContext& context);
};

// By number of micro-batches.
using Cuts = std::map<int64_t, std::shared_ptr<const CutStep>>;

// Adds those of `wanted` (micro-batches, and what is computed again) that can
// be, several at a time.
void CutTogether(const Module& module, const StepContext& context,
                 const std::vector<std::pair<int64_t, Recompute>>& wanted,
                 std::map<Recompute, Cuts>& cuts);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_CUT_STEP_H_
