#include "meshwright/planner/cut_step.h"

#include "meshwright/base/side_by_side.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/planner/loop_pins.h"

namespace meshwright {

namespace {

std::shared_ptr<const CutStep> ModelOf(PlannedStep step, int64_t count,
                                       Recompute recompute,
                                       const StepContext& context) {
  auto cut = std::make_shared<CutStep>();
  cut->count = count;
  cut->recompute = recompute;
  cut->step = std::move(step);
  cut->pins = context.pins;
  if (cut->pins.has_value() && cut->step.is_made()) {
    cut->pins->given =
        PinsInLoop(context.pins->given, cut->step.module(), count);
  }
  cut->model = ModelStep(cut->step.module(), context.style,
                         cut->pins.has_value() ? &*cut->pins : nullptr);
  for (int32_t group = 0; group < cut->model.alike.count(); ++group) {
    cut->flops += cut->model.weights[group] * cut->model.work[group].flops;
  }
  return cut;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const CutStep>> CutStep::Of(
    const Module& module, int64_t count, Recompute recompute,
    const StepContext& context, const Cuts& known) {
  const auto whole = known.find(1);
  if (count > 1 && whole != known.end()) {
    return Recomputing(whole->second->step.module(), count, recompute, context);
  }
  MW_ASSIGN_OR_RETURN(PlannedStep step,
                      PlannedStep::Of(module, count, recompute));
  return ModelOf(std::move(step), count, recompute, context);
}

absl::StatusOr<std::shared_ptr<const CutStep>> CutStep::Recomputing(
    const Module& module, int64_t count, Recompute recompute,
    const StepContext& context) {
  MW_ASSIGN_OR_RETURN(PlannedStep step,
                      PlannedStep::Of(module, count, Recompute::kNone));
  return ModelOf(std::move(step), count, recompute, context);
}

void CutTogether(const Module& module, const StepContext& context,
                 const std::vector<std::pair<int64_t, Recompute>>& wanted,
                 std::map<Recompute, Cuts>& cuts) {
  std::vector<absl::StatusOr<std::shared_ptr<const CutStep>>> made(
      wanted.size());
  SideBySide(static_cast<int>(wanted.size()), [&](int i) {
    made[i] = CutStep::Of(module, wanted[i].first, wanted[i].second, context);
  });
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (made[i].ok()) {
      cuts[wanted[i].second].try_emplace(wanted[i].first, *std::move(made[i]));
    }
  }
}

}  // namespace meshwright
