#include "meshwright/planner/step_variant.h"

#include <utility>

#include "meshwright/base/status_macros.h"
#include "meshwright/planner/loop_pins.h"

namespace meshwright {

namespace {

std::shared_ptr<const StepVariant> ModelOf(PlannedStep step, int64_t count,
                                           Recompute recompute,
                                           const StepContext& context) {
  auto variant = std::make_shared<StepVariant>();
  variant->count = count;
  variant->recompute = recompute;
  variant->step = std::move(step);
  variant->pins = context.pins;
  if (variant->pins.has_value() && variant->step.is_made()) {
    variant->pins->given =
        PinsInLoop(context.pins->given, variant->step.module(), count);
  }
  variant->model =
      ModelStep(variant->step.module(), context.style,
                variant->pins.has_value() ? &*variant->pins : nullptr);
  for (GroupId group{0}; group < variant->model.groups.count(); ++group) {
    variant->flops +=
        variant->model.weights[group] * variant->model.work[group].flops;
  }
  return variant;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const StepVariant>> StepVariant::Of(
    const Module& module, int64_t count, Recompute recompute,
    const StepContext& context) {
  MW_ASSIGN_OR_RETURN(
      PlannedStep step,
      PlannedStep::Of(module, count, recompute, context.row_blocks));
  return ModelOf(std::move(step), count, recompute, context);
}

absl::StatusOr<std::shared_ptr<const StepVariant>> StepVariant::Recomputing(
    const Module& module, int64_t count, Recompute recompute,
    const StepContext& context) {
  MW_ASSIGN_OR_RETURN(
      PlannedStep step,
      PlannedStep::Of(module, count, Recompute::kNone, context.row_blocks));
  return ModelOf(std::move(step), count, recompute, context);
}

}  // namespace meshwright
