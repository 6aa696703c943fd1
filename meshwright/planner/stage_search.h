// How many pipeline stages, on which mesh each, with how many micro-batches.
//
// All stages get equally many devices or, where the number of devices suits it,
// the first ones twice as many as the others. Strategies are searched for the
// whole step on the mesh of one stage, and each stage is taken to do its share
// of the work: a share of the step's time plus the bubble, and a share of the
// residuals that are kept per micro-batch (stages with more micro-batches in
// flight have a smaller share of each). Scans over layers stay whole until a
// plan is lowered (FinishStages): split, they are many times as large, and
// their layers are identical anyway.
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
#include "meshwright/planner/variants.h"
#include "meshwright/search/memory_points.h"

namespace meshwright {

class StageSearch {
 public:
  // Called with everything that was tried.
  using Note = std::function<void(Alternative)>;

  // All arguments but `whole` and `note` must outlive the search. `whole`: the
  // step variant without micro-batches, of the policy of all.
  StageSearch(const PlanTask& task, const MeshSearch& search,
              std::shared_ptr<const StepVariant> whole, Variants& variants,
              Note note);

  // The best candidate of each stage count. kInvalidArgument if a requested
  // count is impossible. `whole_seconds`: the step time without stages; the
  // search gives up when it seems far from that
  // (SearchEffort::stages_far_behind). `only`: if not empty, the stage counts
  // to try.
  absl::StatusOr<std::vector<StageCandidate>> Best(
      double whole_seconds, const std::vector<int32_t>& only);

 private:
  // A way to divide the step, and its result.
  struct Trial {
    // Of most ranks; then of the doubled ranks, if any.
    std::vector<Setting> settings;
    std::vector<absl::StatusOr<PlanCandidate>> found;  // By setting.

    const Setting& setting() const { return settings[0]; }
    const StageSetting& stages() const { return settings[0].stages; }
  };

  absl::Status Check() const;  // Whether the request is possible.
  std::vector<int32_t> StageCounts() const;
  std::vector<Mesh> MeshesOf(int64_t devices) const;
  // Micro-batches; 0 if no count works.
  int64_t CountFor(int32_t stages, const std::vector<Mesh>& meshes) const;
  bool IsWorthIt(int32_t stages) const;
  // Bubble time relative to the work of a stage, by the requested schedule.
  double BubblesOf(int32_t stages, int64_t count) const;
  std::vector<Trial> TrialsOf(int32_t ranks);
  // On these meshes: that of most ranks, then that of the doubled ones.
  Trial TrialOn(const std::vector<Mesh>& meshes, int64_t count,
                StageSetting stages) const;
  int32_t PiecesFor(const Trial& trial) const;  // Pieces of each loop.
  // Drops trials whose variant is impossible.
  void MakeVariantsOf(std::vector<Trial>& trials);
  void Run(std::vector<Trial> trials);
  void Keep(Trial& trial);
  absl::StatusOr<double> Estimate(const Trial& trial);
  void TryUnequal();
  void TryMoreMicroBatches();
  void AddRivals();

  const PlanTask& task_;
  const MeshSearch& search_;
  const std::shared_ptr<const StepVariant> whole_variant_;
  const Recompute recompute_;
  Variants& variants_;
  const Note note_;
  const StepModel& whole_;
  const SearchEffort& effort_;
  const int64_t batch_;  // Examples of a step.
  const MemoryNeed need_;
  StageEstimator estimator_;
  std::map<int32_t, double> seconds_;       // By stage count: the best.
  std::map<int32_t, StageCandidate> kept_;  // By stage count: the best.
  std::vector<PlanCandidate> others_;       // Fit, but are not the best.
  absl::StatusOr<StageCandidate> best_ = absl::NotFoundError("no stages");
};

// The best candidate of each stage count with the rematerialisation policy of
// `without`, the best non-pipelined plan, and of the best of these stage counts
// with policies that recompute less; of every count and policy if that is null.
// At least one, in no order.
absl::StatusOr<std::vector<StageCandidate>> BestStages(
    const PlanTask& task, const MeshSearch& search, const Plan* without,
    Variants& variants, const StageSearch::Note& note);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_STAGE_SEARCH_H_
