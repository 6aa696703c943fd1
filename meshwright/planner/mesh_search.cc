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

absl::StatusOr<Annotations> MeshSearch::PinsOf(const StepVariant& variant,
                                               const Setting& setting) const {
  Annotations pins;
  if (variant.pins.has_value()) pins = variant.pins->given;
  MW_RETURN_IF_ERROR(PinBatch(request_, variant.model, setting.mesh, pins));
  return pins;
}

absl::StatusOr<MeshTask> MeshSearch::TaskOf(const StepVariant& variant,
                                            const Setting& setting,
                                            int64_t memory_limit,
                                            const Annotations& pins) const {
  const Mesh& mesh = setting.mesh;
  MeshTask task{.mesh = mesh};
  task.prices = SearchPrices(request_, rates_, cluster_, mesh);
  task.rates = &rates_;
  if (request_.expert == Expert::kVolume) task.objective = Objective::kVolume;
  task.joint_reductions = setting.joint_reductions;
  task.ways = PathsOf(mesh);
  task.policy = policy_.mesh;
  task.memory_limit = memory_limit;
  task.stages = setting.stages.meshes();
  task.solve = {.time_limit_seconds = request_.time_limit_seconds,
                .work_limit = policy_.solve.first_work,
                .seed = request_.seed,
                .gap = is_lean_ ? policy_.lean.gap : policy_.solve.first_gap};
  MW_ASSIGN_OR_RETURN(task.requirements.pins,
                      PinnedGroups(variant.model, pins, mesh));
  task.requirements.expert = RequirementOf(setting.expert, variant.model, mesh,
                                           BatchAxisOf(request_, mesh));
  return task;
}

std::shared_ptr<ReshardPathCache> MeshSearch::PathsOf(const Mesh& mesh) const {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<ReshardPathCache>& ways = paths_[mesh.ToString()];
  if (ways == nullptr) ways = std::make_shared<ReshardPathCache>();
  return ways;
}

absl::StatusOr<PlanCandidate> MeshSearch::SketchWith(
    const std::shared_ptr<const StepVariant>& variant, const Setting& setting,
    int64_t memory_limit, const std::function<void(MeshTask&)>& start) const {
  MW_ASSIGN_OR_RETURN(Annotations pins, PinsOf(*variant, setting));
  MW_ASSIGN_OR_RETURN(MeshTask task,
                      TaskOf(*variant, setting, memory_limit, pins));
  start(task);
  MW_ASSIGN_OR_RETURN(MeshPlan plan, SketchMesh(variant->model, task));
  return PlanCandidate(variant, setting, memory_limit, std::move(pins),
                       std::move(plan));
}

absl::StatusOr<PlanCandidate> MeshSearch::Sketch(
    const std::shared_ptr<const StepVariant>& variant, const Setting& setting,
    int64_t memory_limit, const std::vector<AxisPlaces>& warm_start) const {
  return SketchWith(variant, setting, memory_limit,
                    [&](MeshTask& task) { task.warm_start = warm_start; });
}

absl::StatusOr<PlanCandidate> MeshSearch::SketchFrom(
    const std::shared_ptr<const StepVariant>& variant, const Setting& setting,
    int64_t memory_limit, const Start& start) const {
  return SketchWith(variant, setting, memory_limit, [&](MeshTask& task) {
    task.warm_start = start.places;
    task.warm_start_shared = start.shared;
    task.warm_start_seconds = start.seconds;
    task.first_axis = start.axis;
  });
}

absl::StatusOr<int64_t> MeshSearch::LeastPeak(
    const std::shared_ptr<const StepVariant>& variant,
    const Setting& setting) const {
  MW_ASSIGN_OR_RETURN(const Annotations pins, PinsOf(*variant, setting));
  MW_ASSIGN_OR_RETURN(const MeshTask task,
                      TaskOf(*variant, setting, kNoLimit, pins));
  return meshwright::LeastPeak(variant->model, setting.mesh, task.requirements);
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
  if (!(found.gap() > wanted_gap) ||
      seconds_left < policy_.solve.least_seconds) {
    return found;
  }
  // A problem with all options of three axes takes long. What computing takes
  // is soon known, and may be bound enough.
  if (found.setting().mesh.axes().size() > 2) {
    PlanCandidate bounded = Bounded(found);
    if (bounded.gap() <= wanted_gap ||
        !IsSmall(found.variant().model, found.setting().mesh, policy_)) {
      return bounded;
    }
  }
  absl::StatusOr<MeshTask> task = TaskOf(found);
  if (!task.ok()) return found;
  task->warm_start = found.plan().axis_places;
  task->warm_start_shared = found.plan().shared;
  task->solve.work_limit = work;
  task->solve.gap = wanted_gap;
  task->solve.time_limit_seconds = seconds_left;
  absl::StatusOr<MeshPlan> plan = PlanMesh(found.variant().model, *task);
  if (!plan.ok()) return found;
  const double bound =
      std::max(found.plan().bound_seconds, plan->bound_seconds);
  const bool is_better = plan->seconds <= found.plan().seconds;
  return (is_better ? found.With(*std::move(plan)) : found).WithBound(bound);
}

PlanCandidate MeshSearch::Bounded(const PlanCandidate& found) const {
  const absl::StatusOr<MeshTask> task = TaskOf(found);
  if (!task.ok()) return found;
  return found.WithBound(std::max(found.plan().bound_seconds,
                                  BoundOf(found.variant().model, *task)));
}

}  // namespace meshwright
