#include "meshwright/planner/mesh_search.h"

#include <algorithm>
#include <utility>

#include "meshwright/base/status_macros.h"
#include "meshwright/planner/batch_axis.h"
#include "meshwright/planner/demand.h"
#include "meshwright/planner/lean_settings.h"
#include "meshwright/planner/loop_pins.h"
#include "meshwright/planner/pinned_groups.h"
#include "meshwright/planner/steering.h"

namespace meshwright {

absl::StatusOr<Found> MeshSearch::Sketch(
    const std::shared_ptr<const CutStep>& cut, const Setting& setting,
    const std::vector<AxisPlaces>& like) const {
  const Mesh& mesh = setting.mesh;
  Found found{.cut = cut, .expert = setting.expert, .task = {.mesh = mesh}};
  MeshTask& task = found.task;
  task.prices = SearchPrices(request_, rates_, cluster_, mesh);
  if (request_.expert != Expert::kVolume) task.rates = &rates_;
  task.memory_limit = setting.memory_limit;
  task.stages = setting.stages;
  task.like = like;
  task.solve = {
      .time_limit_seconds = request_.time_limit_seconds,
      .work_limit = kFirstWork,
      .seed = request_.seed,
      .gap = request_.leanest_below.has_value() ? kLeanGap : kFirstGap};
  if (request_.annotations) {
    MW_ASSIGN_OR_RETURN(found.pins, request_.annotations(mesh));
    if (cut->step.is_made()) {
      found.pins = PinsInLoop(found.pins, cut->step.module(), cut->count);
    }
  }
  MW_RETURN_IF_ERROR(PinBatch(request_, cut->model, mesh, found.pins));
  MW_RETURN_IF_ERROR(CheckPins(cut->model, found.pins, mesh));
  task.demand = PlanDemand(cut->model, setting.expert, task.mesh, found.pins);
  MW_ASSIGN_OR_RETURN(found.plan, SketchMesh(cut->model, task));
  task.demand = nullptr;  // It refers to this very value.
  return found;
}

std::vector<Found> MeshSearch::SketchExperts(
    const std::shared_ptr<const CutStep>& cut, const std::vector<Mesh>& meshes,
    int64_t memory_limit) const {
  std::vector<Found> experts;
  for (const Expert expert : {Expert::kDp, Expert::kMegatron}) {
    for (const Mesh& mesh : meshes) {
      if (static_cast<int>(mesh.axes().size()) != AxesFor(expert)) continue;
      absl::StatusOr<Found> found =
          Sketch(cut, {mesh, memory_limit, expert}, {});
      if (found.ok()) experts.push_back(*std::move(found));
    }
  }
  return experts;
}

absl::Status MeshSearch::CheckPossible(
    const std::shared_ptr<const CutStep>& cut,
    const std::vector<Mesh>& meshes) const {
  for (const Mesh& mesh : meshes) {
    if (Sketch(cut, {mesh, kNoLimit, request_.expert}, {}).ok()) {
      return absl::OkStatus();
    }
  }
  return NoWayWithout(request_);
}

void MeshSearch::Improve(Found& found, int64_t work, double wanted_gap,
                         double seconds_left) const {
  const double gap = 1 - found.plan.bound_seconds / found.plan.seconds;
  if (!(gap > wanted_gap) || seconds_left < 0.1) return;
  MeshTask& task = found.task;
  task.demand =
      PlanDemand(found.cut->model, found.expert, task.mesh, found.pins);
  task.like = found.plan.placements;
  task.like_shared = found.plan.shared;
  task.solve.work_limit = work;
  task.solve.gap = wanted_gap;
  task.solve.time_limit_seconds = seconds_left;
  absl::StatusOr<MeshPlan> plan = PlanMesh(found.cut->model, task);
  task.demand = nullptr;
  if (!plan.ok()) return;
  const double bound = std::max(found.plan.bound_seconds, plan->bound_seconds);
  if (plan->seconds <= found.plan.seconds) found.plan = *std::move(plan);
  found.plan.bound_seconds = std::min(bound, found.plan.seconds);
}

}  // namespace meshwright
