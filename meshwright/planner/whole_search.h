// Sketches of plans without stages: which mesh, how many micro-batches, what is
// computed again.
//
//   WholeSearch whole(task, search, meshes, cuts, log);
//   const absl::Status why = whole.Try();  // what was wrong with the last
//   whole.found();                         // the sketches that fit
#ifndef MESHWRIGHT_PLANNER_WHOLE_SEARCH_H_
#define MESHWRIGHT_PLANNER_WHOLE_SEARCH_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/planner/cut_step.h"
#include "meshwright/planner/mesh_search.h"
#include "meshwright/planner/meshes_to_try.h"
#include "meshwright/planner/plan_log.h"
#include "meshwright/planner/write_plan.h"

namespace meshwright {

class WholeSearch {
 public:
  // All but `meshes` outlive it; `cuts` are added to.
  WholeSearch(const PlanTask& task, const MeshSearch& search,
              std::vector<Mesh> meshes, std::map<Recompute, Cuts>& cuts,
              PlanLog& log);

  // As few micro-batches as fit; where memory costs time, as many or fewer that
  // compute again; and if that does not help, more. What was wrong with the
  // last that could not be.
  absl::Status Try();
  // Forgets what was found, and tries more micro-batches than that had.
  absl::Status TrySmaller(const CutStep& than);

  // What was asked for cannot be, memory or not.
  bool refused() const { return refused_; }
  const std::vector<Found>& found() const { return found_; }
  // All that could be, also what `found` is no longer about.
  const std::vector<MeshTime>& times() const { return times_; }

  // The time is over, and something was found; a note says so.
  bool IsOutOfTime();

  // Why the step cannot be cut into any micro-batches; that it can.
  absl::Status WhyNotCut();

  const std::vector<Mesh>& meshes() const { return meshes_; }
  // Numbers of micro-batches to try, ascending.
  std::vector<int64_t> Counts();
  absl::StatusOr<std::shared_ptr<const CutStep>> Cut(
      int64_t count, Recompute recompute = Recompute::kNone);

 private:
  std::vector<int64_t> CountsFor(const CutStep& cut) const;
  void TryRecomputing(const std::vector<Recompute>& order);
  bool MemoryCosts();
  absl::Status TryCounts(const std::vector<int64_t>& counts,
                         Recompute recompute, const std::vector<Mesh>& meshes,
                         int more);
  void TryMeshes(const std::shared_ptr<const CutStep>& cut,
                 const std::vector<Mesh>& meshes, absl::Status& last);
  absl::StatusOr<Found> SketchOn(const std::shared_ptr<const CutStep>& cut,
                                 const Mesh& mesh) const;
  void Keep(const Mesh& mesh, const CutStep& cut, absl::StatusOr<Found> found,
            absl::Status& last);

  const PlanTask& task_;
  const PlanRequest& request_;
  const MeshSearch& search_;
  const std::vector<Mesh> meshes_;
  std::map<Recompute, Cuts>& cuts_;
  PlanLog& log_;
  int64_t batch_ = 1;
  std::optional<double> unlimited_seconds_;  // With one micro-batch.
  std::vector<Found> found_;
  bool refused_ = false;
  std::vector<AxisPlaces> like_;  // Of the best so far, to start from.
  std::vector<MeshTime> times_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_WHOLE_SEARCH_H_
