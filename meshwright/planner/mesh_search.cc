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
bool IsSmall(const StepModel& model, const Mesh& mesh,
             const SearchPolicy& policy) {
  return mesh.axes().size() < 3 ||
         CellsOf(model, mesh) <= policy.solve.most_cells;
}

absl::StatusOr<PlanCandidate> MeshSearch::Begin(
    const std::shared_ptr<const StepVariant>& variant, const Setting& setting,
    int64_t memory_limit) const {
  PlanCandidate found{
      .variant = variant, .setting = setting, .memory_limit = memory_limit};
  if (variant->pins.has_value()) found.pins = variant->pins->given;
  MW_RETURN_IF_ERROR(
      PinBatch(request_, variant->model, setting.mesh, found.pins));
  return found;
}

absl::StatusOr<MeshTask> MeshSearch::TaskOf(const PlanCandidate& found) const {
  const Mesh& mesh = found.setting.mesh;
  MeshTask task{.mesh = mesh};
  task.prices = SearchPrices(request_, rates_, cluster_, mesh);
  task.ways = PathsOf(mesh);
  task.rates = &rates_;
  if (request_.expert == Expert::kVolume) task.objective = Objective::kVolume;
  task.policy = policy_.mesh;
  task.memory_limit = found.memory_limit;
  task.stages = found.setting.stages.meshes();
  task.solve = {.time_limit_seconds = request_.time_limit_seconds,
                .work_limit = policy_.solve.first_work,
                .seed = request_.seed,
                .gap = is_lean_ ? policy_.lean.gap : policy_.solve.first_gap};
  MW_ASSIGN_OR_RETURN(task.demands.pins,
                      PinnedGroups(found.variant->model, found.pins, mesh));
  task.demands.expert =
      DemandOf(found.setting.expert, found.variant->model, found.setting.mesh);
  return task;
}

std::shared_ptr<ReshardPathCache> MeshSearch::PathsOf(const Mesh& mesh) const {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<ReshardPathCache>& ways = paths_[mesh.ToString()];
  if (ways == nullptr) ways = std::make_shared<ReshardPathCache>();
  return ways;
}

absl::StatusOr<PlanCandidate> MeshSearch::Sketch(
    const std::shared_ptr<const StepVariant>& variant, const Setting& setting,
    int64_t memory_limit, const std::vector<AxisPlaces>& warm_start) const {
  MW_ASSIGN_OR_RETURN(PlanCandidate found,
                      Begin(variant, setting, memory_limit));
  MW_ASSIGN_OR_RETURN(MeshTask task, TaskOf(found));
  task.warm_start = warm_start;
  MW_ASSIGN_OR_RETURN(found.plan, SketchMesh(variant->model, task));
  return found;
}

absl::StatusOr<PlanCandidate> MeshSearch::SketchFrom(
    const std::shared_ptr<const StepVariant>& variant, const Setting& setting,
    int64_t memory_limit, const Start& start) const {
  MW_ASSIGN_OR_RETURN(PlanCandidate found,
                      Begin(variant, setting, memory_limit));
  MW_ASSIGN_OR_RETURN(MeshTask task, TaskOf(found));
  task.warm_start = start.places;
  task.warm_start_shared = start.shared;
  task.warm_start_seconds = start.seconds;
  task.first_axis = start.axis;
  MW_ASSIGN_OR_RETURN(found.plan, SketchMesh(variant->model, task));
  return found;
}

absl::StatusOr<int64_t> MeshSearch::LeastPeak(
    const std::shared_ptr<const StepVariant>& variant,
    const Setting& setting) const {
  MW_ASSIGN_OR_RETURN(const PlanCandidate found,
                      Begin(variant, setting, kNoLimit));
  MW_ASSIGN_OR_RETURN(const MeshTask task, TaskOf(found));
  return meshwright::LeastPeak(variant->model, setting.mesh, task.demands);
}

absl::Status MeshSearch::CheckPossible(
    const std::shared_ptr<const StepVariant>& variant,
    const std::vector<Mesh>& meshes) const {
  for (const Mesh& mesh : meshes) {
    if (Sketch(variant, SettingOf(*variant, mesh, request_.expert), kNoLimit,
               {})
            .ok()) {
      return absl::OkStatus();
    }
  }
  return NoWay(request_);
}

PlanCandidate MeshSearch::Improved(const PlanCandidate& found, int64_t work,
                                   double wanted_gap,
                                   double seconds_left) const {
  const double gap = 1 - found.plan.bound_seconds / found.plan.seconds;
  if (!(gap > wanted_gap) || seconds_left < 0.1) return found;
  if (!IsSmall(found.variant->model, found.setting.mesh, policy_)) {
    return Bounded(found);
  }
  absl::StatusOr<MeshTask> task = TaskOf(found);
  if (!task.ok()) return found;
  task->warm_start = found.plan.placements;
  task->warm_start_shared = found.plan.shared;
  task->solve.work_limit = work;
  task->solve.gap = wanted_gap;
  task->solve.time_limit_seconds = seconds_left;
  absl::StatusOr<MeshPlan> plan = PlanMesh(found.variant->model, *task);
  if (!plan.ok()) return found;
  const double bound = std::max(found.plan.bound_seconds, plan->bound_seconds);
  PlanCandidate improved = found;
  if (plan->seconds <= found.plan.seconds) improved.plan = *std::move(plan);
  return improved.WithBound(bound);
}

PlanCandidate MeshSearch::Bounded(const PlanCandidate& found) const {
  const absl::StatusOr<MeshTask> task = TaskOf(found);
  if (!task.ok()) return found;
  PlanCandidate bounded = found;
  bounded.plan.bound_seconds =
      std::max(found.plan.bound_seconds, BoundOf(found.variant->model, *task));
  return bounded;
}

}  // namespace meshwright
