// How many stages, of which mesh, with how many micro-batches.
//
// All stages get equally many devices or, where the number of devices suits it,
// the first ones twice as many as the others. Strategies are searched for the
// whole step on the mesh of one: what stages do then is a part each of the
// step's work. (A part of its time, that is, plus the bubble; and a part of
// what is kept from micro-batch to micro-batch. Stages that have more
// micro-batches under way have a smaller part of each.) Loops over layers stay
// whole until a plan is written (FinishStages): cut, they are many times as
// large, and their layers do the same.
#ifndef MESHWRIGHT_PLANNER_STAGE_SEARCH_H_
#define MESHWRIGHT_PLANNER_STAGE_SEARCH_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/planner/mesh_search.h"
#include "meshwright/planner/stage_estimate.h"
#include "meshwright/planner/stage_plan.h"
#include "meshwright/search/memory_points.h"

namespace meshwright {

class StageSearch {
 public:
  // Told of everything that was looked at.
  using Note = std::function<void(Alternative)>;

  // All outlive it. `cuts`, by number of micro-batches: those that are known of
  // the step that computes so much again, the one that is whole among them;
  // more are added.
  StageSearch(const PlanTask& task, const MeshSearch& search,
              Recompute recompute, Cuts& cuts, Note note);

  // The best that was found, whichever number of stages it has; after it the
  // best of other numbers. kInvalidArgument for a number that cannot be.
  // `whole_seconds`: what the step takes without stages; large steps are given
  // up when they seem far from it.
  absl::StatusOr<std::vector<StageCandidate>> Best(double whole_seconds);

 private:
  // One setting, and what became of it.
  struct Trial {
    int32_t stages = 2;
    int32_t doubled = 0;  // The first so many have twice as many devices.
    int64_t count = 2;
    std::vector<Mesh> meshes;  // Of most stages; of those that have twice as
                               // many, if there are any.
    std::vector<absl::StatusOr<Found>> found;  // For each.

    // Parts of the step that are equal by devices.
    int32_t parts() const { return stages + doubled; }
  };

  absl::Status Check() const;  // What the request asks for can be.
  std::vector<int32_t> StageCounts() const;
  std::vector<Mesh> MeshesOf(int64_t devices) const;
  // 0 if there is none.
  int64_t CountFor(int32_t stages, const std::vector<Mesh>& meshes) const;
  bool IsWorthIt(int32_t stages) const;
  // Of a step's work on a stage, as the schedules leave.
  double BubblesOf(int32_t stages, int64_t count) const;
  std::vector<Trial> TrialsOf(int32_t stages) const;
  int32_t PiecesFor(const Trial& trial) const;  // Of loops.
  void MakeCuts(const std::vector<Trial>& trials);
  void Run(std::vector<Trial> trials);
  void Keep(Trial& trial);
  absl::StatusOr<double> Estimate(const Trial& trial);
  void TryUnequal();
  void TryMoreMicroBatches();
  void AddRivals();

  const PlanTask& task_;
  const MeshSearch& search_;
  const Recompute recompute_;
  Cuts& cuts_;
  const Note note_;
  const StepModel& whole_;
  const bool is_large_;
  const int64_t batch_;  // Examples of a step.
  const MemoryNeed need_;
  StageEstimator estimator_;
  std::map<int32_t, double> seconds_;       // By stages: the best.
  std::map<int32_t, StageCandidate> kept_;  // The same.
  std::vector<Found> others_;               // Fit, but others are better.
  absl::StatusOr<StageCandidate> best_ = absl::NotFoundError("no stages");
};

// The best of each number of stages that compute as much again as the best
// without stages does; null: there is none, so of each kind. Quickest first, at
// least one. `cuts` as above, added where they are missing.
absl::StatusOr<std::vector<StageCandidate>> BestStages(
    const PlanTask& task, const MeshSearch& search, const Plan* without,
    std::map<Recompute, Cuts>& cuts, const StageSearch::Note& note);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_STAGE_SEARCH_H_
