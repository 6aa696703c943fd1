#include "meshwright/planner/cut_step.h"

#include "meshwright/base/status_macros.h"

namespace meshwright {

absl::StatusOr<std::shared_ptr<const CutStep>> CutStep::Of(
    const Module& module, int64_t count, Recompute recompute,
    const FusionStyle& style) {
  auto cut = std::make_shared<CutStep>();
  cut->count = count;
  cut->recompute = recompute;
  MW_ASSIGN_OR_RETURN(cut->step, PlannedStep::Of(module, count, recompute));
  cut->model = ModelStep(cut->step.module(), style);
  for (int32_t group = 0; group < cut->model.alike.count(); ++group) {
    cut->flops += cut->model.weights[group] * cut->model.work[group].flops;
  }
  return cut;
}

}  // namespace meshwright
