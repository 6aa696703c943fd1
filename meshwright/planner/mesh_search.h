// The search on one mesh, as a request wants it: coarse candidates first, then
// refined ones.
#ifndef MESHWRIGHT_PLANNER_MESH_SEARCH_H_
#define MESHWRIGHT_PLANNER_MESH_SEARCH_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/cost/rates.h"
#include "meshwright/mesh/cluster.h"
#include "meshwright/planner/plan_candidate.h"
#include "meshwright/planner/plan_task.h"
#include "meshwright/planner/planner.h"
#include "meshwright/planner/setting.h"
#include "meshwright/planner/step_variant.h"
#include "meshwright/search/plan_mesh.h"

namespace meshwright {

// Whether the problem can be solved for all axes at once; with three axes or
// more only for small steps.
bool IsSmall(const StepModel& model, const Mesh& mesh,
             const SearchPolicy& policy);

class MeshSearch {
 public:
  // Everything that `task` refers to must outlive the search.
  explicit MeshSearch(const PlanTask& task)
      : cluster_(task.cluster),
        rates_(task.rates),
        request_(task.request),
        policy_(task.policy),
        is_lean_(task.mode.leanest_below.has_value()) {}

  // A coarse candidate, solved axis by axis. `variant`: that of the setting, or
  // one with its loops split. `memory_limit`: bytes per device, as the search
  // counts. `warm_start` as in MeshTask.
  absl::StatusOr<PlanCandidate> Sketch(
      const std::shared_ptr<const StepVariant>& variant, const Setting& setting,
      int64_t memory_limit, const std::vector<AxisPlaces>& warm_start) const;

  // A solution on this very mesh to start from.
  struct Start {
    std::vector<AxisPlaces> places;
    SharedForms shared;  // May be empty.
    double seconds = 0;  // Its cost, as the search counts.
    int32_t axis = 0;    // The axis whose assignment is most likely to improve.
  };
  // A coarse candidate that improves on `start`, if there is one; see
  // MeshTask::warm_start_seconds.
  absl::StatusOr<PlanCandidate> SketchFrom(
      const std::shared_ptr<const StepVariant>& variant, const Setting& setting,
      int64_t memory_limit, const Start& start) const;

  // A lower bound on the peak bytes of any plan in this setting, as the search
  // counts.
  absl::StatusOr<int64_t> LeastPeak(
      const std::shared_ptr<const StepVariant>& variant,
      const Setting& setting) const;

  // kInvalidArgument if no plan on any mesh satisfies the request, even with
  // unlimited memory.
  absl::Status CheckPossible(const std::shared_ptr<const StepVariant>& variant,
                             const std::vector<Mesh>& meshes) const;

  // `found`, or one that is no worse: solves for all axes at once, within
  // `work`, if the bound leaves room for improvement and the problem IsSmall.
  // Otherwise only makes sure that it has a bound.
  PlanCandidate Improved(const PlanCandidate& found, int64_t work,
                         double wanted_gap, double seconds_left) const;
  // `found` with a bound for the mesh, without further solver work.
  PlanCandidate Bounded(const PlanCandidate& found) const;

  const SearchPolicy& policy() const { return policy_; }

 private:
  // The user's pins on the step of the variant.
  absl::StatusOr<Annotations> PinsOf(const StepVariant& variant,
                                     const Setting& setting) const;
  // What is solved to find strategies, without a warm start.
  absl::StatusOr<MeshTask> TaskOf(const StepVariant& variant,
                                  const Setting& setting, int64_t memory_limit,
                                  const Annotations& pins) const;
  absl::StatusOr<MeshTask> TaskOf(const PlanCandidate& found) const {
    return TaskOf(found.variant(), found.setting(), found.memory_limit(),
                  found.pins());
  }
  // A coarse candidate; `start` makes a task's warm start.
  absl::StatusOr<PlanCandidate> SketchWith(
      const std::shared_ptr<const StepVariant>& variant, const Setting& setting,
      int64_t memory_limit, const std::function<void(MeshTask&)>& start) const;
  std::shared_ptr<ReshardPathCache> PathsOf(const Mesh& mesh) const;

  const Cluster& cluster_;
  const Rates& rates_;
  const PlanRequest& request_;
  const SearchPolicy& policy_;
  const bool is_lean_;
  // Memoised reshard paths by mesh, shared by all candidates on it.
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::shared_ptr<ReshardPathCache>> paths_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_MESH_SEARCH_H_
