#include "meshwright/planner/step_variant.h"

#include "meshwright/base/side_by_side.h"
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
  for (int32_t group = 0; group < variant->model.alike.count(); ++group) {
    variant->flops +=
        variant->model.weights[group] * variant->model.work[group].flops;
  }
  return variant;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const StepVariant>> StepVariant::Of(
    const Module& module, int64_t count, Recompute recompute,
    const StepContext& context, const StepVariants& known) {
  const auto whole = known.find(1);
  if (count > 1 && whole != known.end()) {
    return Recomputing(whole->second->step.module(), count, recompute, context);
  }
  MW_ASSIGN_OR_RETURN(PlannedStep step,
                      PlannedStep::Of(module, count, recompute));
  return ModelOf(std::move(step), count, recompute, context);
}

absl::StatusOr<std::shared_ptr<const StepVariant>> StepVariant::Recomputing(
    const Module& module, int64_t count, Recompute recompute,
    const StepContext& context) {
  MW_ASSIGN_OR_RETURN(PlannedStep step,
                      PlannedStep::Of(module, count, Recompute::kNone));
  return ModelOf(std::move(step), count, recompute, context);
}

void MakeVariants(const Module& module, const StepContext& context,
                  const std::vector<std::pair<int64_t, Recompute>>& wanted,
                  std::map<Recompute, StepVariants>& variants) {
  std::vector<absl::StatusOr<std::shared_ptr<const StepVariant>>> made(
      wanted.size());
  SideBySide(static_cast<int>(wanted.size()), [&](int i) {
    made[i] =
        StepVariant::Of(module, wanted[i].first, wanted[i].second, context);
  });
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (made[i].ok()) {
      variants[wanted[i].second].try_emplace(wanted[i].first,
                                             *std::move(made[i]));
    }
  }
}

}  // namespace meshwright
