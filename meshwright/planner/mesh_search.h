// Plans of one mesh, as a request wants them: sketched, and improved.
#ifndef MESHWRIGHT_PLANNER_MESH_SEARCH_H_
#define MESHWRIGHT_PLANNER_MESH_SEARCH_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/cost/rates.h"
#include "meshwright/loops/split_loops.h"
#include "meshwright/mesh/cluster.h"
#include "meshwright/planner/cut_step.h"
#include "meshwright/planner/plan_task.h"
#include "meshwright/planner/planner.h"
#include "meshwright/search/plan_mesh.h"

namespace meshwright {

struct Found {
  // Of stages only: what they are made of, and `cut` is; null: the step as it
  // is.
  std::shared_ptr<const SplitStep> split;
  std::shared_ptr<const CutStep> cut;
  Expert expert = Expert::kAuto;
  MeshTask task;
  Annotations pins;
  MeshPlan plan;

  // What a step will about take; plan.seconds is what the search minimises, and
  // has a bound.
  double seconds() const { return plan.time.seconds; }
};

// Whether all axes can be solved for at once: of three and more of them only
// small steps.
bool IsSmall(const StepModel& model, const Mesh& mesh);

class MeshSearch {
 public:
  // What the task refers to outlives it.
  explicit MeshSearch(const PlanTask& task)
      : cluster_(task.cluster),
        rates_(task.rates),
        request_(task.request),
        is_lean_(task.mode.leanest_below.has_value()) {}

  struct Setting {
    Mesh mesh;
    int64_t memory_limit = 0;  // As the search counts.
    Expert expert = Expert::kAuto;
    double stages = 1;  // The mesh is that of one.
  };
  // A first plan; `like` as in MeshTask.
  absl::StatusOr<Found> Sketch(const std::shared_ptr<const CutStep>& cut,
                               const Setting& setting,
                               const std::vector<AxisPlaces>& like) const;

  // A plan of this very mesh to start from.
  struct Start {
    std::vector<AxisPlaces> places;
    SharedForms shared;  // May be empty.
    double seconds = 0;  // What it takes, as the search counts.
    int32_t axis = 0;    // That may well lie elsewhere.
  };
  // Where that can be improved upon; see MeshTask::like_seconds.
  absl::StatusOr<Found> SketchFrom(const std::shared_ptr<const CutStep>& cut,
                                   const Setting& setting,
                                   const Start& start) const;

  // How little memory may do on a mesh, as the search counts.
  absl::StatusOr<int64_t> LeastPeak(const std::shared_ptr<const CutStep>& cut,
                                    const Mesh& mesh, Expert expert) const;

  // kInvalidArgument when nothing does what is asked for, memory or not.
  absl::Status CheckPossible(const std::shared_ptr<const CutStep>& cut,
                             const std::vector<Mesh>& meshes) const;

  // More work on a mesh, if its bound leaves room; where it IsSmall. Else there
  // is at least a bound.
  void Improve(Found& found, int64_t work, double wanted_gap,
               double seconds_left) const;
  // A bound on what the mesh allows, without more work.
  void Bound(Found& found) const;

 private:
  // All but what to start from.
  absl::StatusOr<Found> Prepare(const std::shared_ptr<const CutStep>& cut,
                                const Setting& setting) const;
  absl::Status Sketch(Found& found) const;
  std::shared_ptr<KnownWays> WaysOf(const Mesh& mesh) const;

  const Cluster& cluster_;
  const Rates& rates_;
  const PlanRequest& request_;
  const bool is_lean_;
  // By mesh: what is found once holds for every sketch.
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::shared_ptr<KnownWays>> ways_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_MESH_SEARCH_H_
