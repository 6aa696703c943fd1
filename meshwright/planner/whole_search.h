// Coarse candidates of non-pipelined plans: which mesh, how many micro-batches,
// which rematerialisation policy.
//
//   WholeSearch whole(task, search, meshes, cuts, log);
//   const absl::Status why = whole.Try();  // The last failure.
//   whole.found();                         // The candidates that fit.
#ifndef MESHWRIGHT_PLANNER_WHOLE_SEARCH_H_
#define MESHWRIGHT_PLANNER_WHOLE_SEARCH_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/planner/mesh_search.h"
#include "meshwright/planner/meshes_to_try.h"
#include "meshwright/planner/plan_log.h"
#include "meshwright/planner/variants.h"
#include "meshwright/planner/write_plan.h"

namespace meshwright {

class WholeSearch {
 public:
  // All arguments but `meshes` must outlive the search.
  WholeSearch(const PlanTask& task, const MeshSearch& search,
              std::vector<Mesh> meshes, Variants& variants, PlanLog& log);

  // Tries as few micro-batches as fit; where the memory limit costs time, as
  // many or fewer with rematerialisation; and if that does not help, more
  // micro-batches. Returns the last failure.
  absl::Status Try();
  // Drops what was found, and tries larger micro-batch counts than that of
  // `than`.
  absl::Status TrySmaller(const StepVariant& than);

  // Whether the request is impossible, even with unlimited memory.
  bool refused() const { return refused_; }
  const std::vector<PlanCandidate>& found() const { return found_; }
  // That of the step variant with which candidates were found first, so that
  // all of them get the same. Something must have been found.
  const SearchEffort& effort() const { return *effort_; }
  // All settings that were possible, including those no longer in found().
  const std::vector<SettingTime>& times() const { return times_; }

  // Whether the time limit has passed and something was found; adds a note if
  // so.
  bool IsOutOfTime();

  // Why the step cannot be split into any micro-batches; OK if it can.
  absl::Status WhyNotSplit();

  const std::vector<Mesh>& meshes() const { return meshes_; }
  // Micro-batch counts to try, ascending.
  std::vector<int64_t> Counts();
  absl::StatusOr<std::shared_ptr<const StepVariant>> Variant(
      int64_t count, Recompute recompute = Recompute::kNone);

 private:
  std::vector<int64_t> CountsFor(const StepVariant& variant) const;
  void TryRecomputing(const std::vector<Recompute>& order);
  bool MemoryCosts();
  absl::Status TryCounts(const std::vector<int64_t>& counts,
                         Recompute recompute, const std::vector<Mesh>& meshes,
                         int more);
  void TryMeshes(const std::shared_ptr<const StepVariant>& variant,
                 const std::vector<Mesh>& meshes, absl::Status& last);
  absl::StatusOr<PlanCandidate> SketchOn(
      const std::shared_ptr<const StepVariant>& variant,
      const Mesh& mesh) const;
  void Keep(const Mesh& mesh, const StepVariant& variant,
            absl::StatusOr<PlanCandidate> found, absl::Status& last);

  const PlanTask& task_;
  const PlanRequest& request_;
  const MeshSearch& search_;
  const std::vector<Mesh> meshes_;
  Variants& variants_;
  PlanLog& log_;
  int64_t batch_ = 1;
  // Step time with unlimited memory and one micro-batch.
  std::optional<double> unlimited_seconds_;
  std::vector<PlanCandidate> found_;
  const SearchEffort* effort_ = nullptr;  // Of the first of these.
  bool refused_ = false;
  std::vector<AxisPlaces> warm_start_;  // Of the best candidate so far.
  std::vector<SettingTime> times_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_WHOLE_SEARCH_H_
