#include "meshwright/planner/cut_step.h"

#include "meshwright/base/status_macros.h"

namespace meshwright {

absl::StatusOr<std::shared_ptr<const CutStep>> CutStep::Of(
    const Module& module, int64_t count, const FusionStyle& style) {
  auto cut = std::make_shared<CutStep>();
  cut->count = count;
  MW_ASSIGN_OR_RETURN(cut->step, PlannedStep::Of(module, count));
  cut->model = ModelStep(cut->step.module(), style);
  return cut;
}

}  // namespace meshwright
