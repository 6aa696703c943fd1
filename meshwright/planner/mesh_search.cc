#include "meshwright/planner/mesh_search.h"

#include <algorithm>
#include <utility>

#include "meshwright/base/status_macros.h"
#include "meshwright/planner/batch_axis.h"
#include "meshwright/planner/lean_settings.h"
#include "meshwright/planner/search_policy.h"
#include "meshwright/planner/steering.h"
#include "meshwright/search/expert.h"
#include "meshwright/search/group_pins.h"
#include "meshwright/search/least_peak.h"

namespace meshwright {
bool IsSmall(const StepModel& model, const Mesh& mesh) {
  return mesh.axes().size() < 3 ||
         CellsOf(model, mesh) <= kSearchPolicy.solve.most_cells;
}

absl::StatusOr<Found> MeshSearch::Prepare(
    const std::shared_ptr<const CutStep>& cut, const Setting& setting) const {
  const Mesh& mesh = setting.mesh;
  Found found{.cut = cut, .expert = setting.expert, .task = {.mesh = mesh}};
  MeshTask& task = found.task;
  task.prices = SearchPrices(request_, rates_, cluster_, mesh);
  task.ways = WaysOf(mesh);
  if (request_.expert != Expert::kVolume) task.rates = &rates_;
  task.memory_limit = setting.memory_limit;
  task.stages = setting.stages;
  task.solve = {
      .time_limit_seconds = request_.time_limit_seconds,
      .work_limit = kSearchPolicy.solve.first_work,
      .seed = request_.seed,
      .gap = is_lean_ ? kSearchPolicy.lean.gap : kSearchPolicy.solve.first_gap};
  if (cut->pins.has_value()) found.pins = cut->pins->given;
  MW_RETURN_IF_ERROR(PinBatch(request_, cut->model, mesh, found.pins));
  MW_ASSIGN_OR_RETURN(task.demands.pins,
                      PinnedGroups(cut->model, found.pins, mesh));
  return found;
}

std::shared_ptr<KnownWays> MeshSearch::WaysOf(const Mesh& mesh) const {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<KnownWays>& ways = ways_[mesh.ToString()];
  if (ways == nullptr) ways = std::make_shared<KnownWays>();
  return ways;
}

absl::Status MeshSearch::Sketch(Found& found) const {
  MeshTask& task = found.task;
  // It refers to this very value.
  task.demands.expert = DemandOf(found.expert, found.cut->model, task.mesh);
  absl::StatusOr<MeshPlan> plan = SketchMesh(found.cut->model, task);
  task.demands.expert = nullptr;
  MW_ASSIGN_OR_RETURN(found.plan, std::move(plan));
  return absl::OkStatus();
}

absl::StatusOr<Found> MeshSearch::Sketch(
    const std::shared_ptr<const CutStep>& cut, const Setting& setting,
    const std::vector<AxisPlaces>& like) const {
  MW_ASSIGN_OR_RETURN(Found found, Prepare(cut, setting));
  found.task.like = like;
  MW_RETURN_IF_ERROR(Sketch(found));
  return found;
}

absl::StatusOr<Found> MeshSearch::SketchFrom(
    const std::shared_ptr<const CutStep>& cut, const Setting& setting,
    const Start& start) const {
  MW_ASSIGN_OR_RETURN(Found found, Prepare(cut, setting));
  found.task.like = start.places;
  found.task.like_shared = start.shared;
  found.task.like_seconds = start.seconds;
  found.task.first_axis = start.axis;
  MW_RETURN_IF_ERROR(Sketch(found));
  return found;
}

absl::StatusOr<int64_t> MeshSearch::LeastPeak(
    const std::shared_ptr<const CutStep>& cut, const Mesh& mesh,
    Expert expert) const {
  MW_ASSIGN_OR_RETURN(Found found, Prepare(cut, {mesh, kNoLimit, expert}));
  found.task.demands.expert = DemandOf(expert, cut->model, mesh);
  return meshwright::LeastPeak(cut->model, mesh, found.task.demands);
}

absl::Status MeshSearch::CheckPossible(
    const std::shared_ptr<const CutStep>& cut,
    const std::vector<Mesh>& meshes) const {
  for (const Mesh& mesh : meshes) {
    if (Sketch(cut, {mesh, kNoLimit, request_.expert}, {}).ok()) {
      return absl::OkStatus();
    }
  }
  return NoWay(request_);
}

void MeshSearch::Improve(Found& found, int64_t work, double wanted_gap,
                         double seconds_left) const {
  const double gap = 1 - found.plan.bound_seconds / found.plan.seconds;
  if (!(gap > wanted_gap) || seconds_left < 0.1) return;
  if (!IsSmall(found.cut->model, found.task.mesh)) {
    Bound(found);
    return;
  }
  MeshTask& task = found.task;
  task.demands.expert = DemandOf(found.expert, found.cut->model, task.mesh);
  task.like = found.plan.placements;
  task.like_shared = found.plan.shared;
  task.solve.work_limit = work;
  task.solve.gap = wanted_gap;
  task.solve.time_limit_seconds = seconds_left;
  absl::StatusOr<MeshPlan> plan = PlanMesh(found.cut->model, task);
  task.demands.expert = nullptr;
  if (!plan.ok()) return;
  const double bound = std::max(found.plan.bound_seconds, plan->bound_seconds);
  if (plan->seconds <= found.plan.seconds) found.plan = *std::move(plan);
  found.plan.bound_seconds = std::min(bound, found.plan.seconds);
}

void MeshSearch::Bound(Found& found) const {
  MeshTask& task = found.task;
  task.demands.expert = DemandOf(found.expert, found.cut->model, task.mesh);
  found.plan.bound_seconds =
      std::max(found.plan.bound_seconds, BoundOf(found.cut->model, task));
  task.demands.expert = nullptr;
}

}  // namespace meshwright
