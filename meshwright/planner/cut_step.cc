#include "meshwright/planner/cut_step.h"

#include "meshwright/base/side_by_side.h"
#include "meshwright/base/status_macros.h"

namespace meshwright {

namespace {

std::shared_ptr<const CutStep> ModelOf(PlannedStep step, int64_t count,
                                       Recompute recompute,
                                       const FusionStyle& style) {
  auto cut = std::make_shared<CutStep>();
  cut->count = count;
  cut->recompute = recompute;
  cut->step = std::move(step);
  cut->model = ModelStep(cut->step.module(), style);
  for (int32_t group = 0; group < cut->model.alike.count(); ++group) {
    cut->flops += cut->model.weights[group] * cut->model.work[group].flops;
  }
  return cut;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const CutStep>> CutStep::Of(
    const Module& module, int64_t count, Recompute recompute,
    const FusionStyle& style, const Cuts& known) {
  const auto whole = known.find(1);
  if (count > 1 && whole != known.end()) {
    return Recomputing(whole->second->step.module(), count, recompute, style);
  }
  MW_ASSIGN_OR_RETURN(PlannedStep step,
                      PlannedStep::Of(module, count, recompute));
  return ModelOf(std::move(step), count, recompute, style);
}

absl::StatusOr<std::shared_ptr<const CutStep>> CutStep::Recomputing(
    const Module& module, int64_t count, Recompute recompute,
    const FusionStyle& style) {
  MW_ASSIGN_OR_RETURN(PlannedStep step,
                      PlannedStep::Of(module, count, Recompute::kNone));
  return ModelOf(std::move(step), count, recompute, style);
}

void CutTogether(const Module& module, const FusionStyle& style,
                 const std::vector<std::pair<int64_t, Recompute>>& wanted,
                 std::map<Recompute, Cuts>& cuts) {
  std::vector<absl::StatusOr<std::shared_ptr<const CutStep>>> made(
      wanted.size());
  SideBySide(static_cast<int>(wanted.size()), [&](int i) {
    made[i] = CutStep::Of(module, wanted[i].first, wanted[i].second, style);
  });
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (made[i].ok()) {
      cuts[wanted[i].second].try_emplace(wanted[i].first, *std::move(made[i]));
    }
  }
}

}  // namespace meshwright
