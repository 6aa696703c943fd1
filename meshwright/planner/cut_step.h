// A step cut into some micro-batches, as the search sees it.
#ifndef MESHWRIGHT_PLANNER_CUT_STEP_H_
#define MESHWRIGHT_PLANNER_CUT_STEP_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "meshwright/hlo/module.h"
#include "meshwright/planner/planner.h"
#include "meshwright/search/step_model.h"

namespace meshwright {

struct CutStep {
  int64_t count = 1;
  PlannedStep step;
  StepModel model;  // Of `step`.

  // Errors as PlannedStep::Of. `module` outlives it.
  static absl::StatusOr<std::shared_ptr<const CutStep>> Of(
      const Module& module, int64_t count, const FusionStyle& style);
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_CUT_STEP_H_
