// How many stages, of which mesh, with how many micro-batches.
//
// All stages get equally many devices, laid out alike, and strategies are
// searched for the whole step on the mesh of one: what stages do then is a part
// each of the step's work. (A part of its time, that is, plus the bubble; and a
// part of what is kept from micro-batch to micro-batch. Stages that have more
// micro-batches under way have a smaller part of each.)
#ifndef MESHWRIGHT_PLANNER_STAGE_SEARCH_H_
#define MESHWRIGHT_PLANNER_STAGE_SEARCH_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/planner/mesh_search.h"
#include "meshwright/planner/stage_plan.h"

namespace meshwright {

class StageSearch {
 public:
  using CutInto =
      std::function<absl::StatusOr<std::shared_ptr<const CutStep>>(int64_t)>;
  // Told of everything that was looked at.
  using Note = std::function<void(const Mesh&, const CutStep&, int32_t stages,
                                  const absl::StatusOr<StageCandidate>&)>;

  // All outlive it. `batch`: examples of a step.
  StageSearch(const PlanTask& task, const MeshSearch& search, int64_t batch,
              CutInto cut, Note note)
      : task_(task),
        search_(search),
        batch_(batch),
        cut_(std::move(cut)),
        note_(std::move(note)) {}

  // The best that was found. `known`: numbers of micro-batches that are cut
  // already; `best`: what has to be beaten, where far behind it the search
  // ends.
  absl::StatusOr<StageCandidate> Best(std::set<int64_t> known, double best);

 private:
  std::vector<int32_t> StageCounts() const;
  std::vector<Mesh> MeshesOf(int32_t stages) const;
  std::vector<int64_t> CountsFor(int32_t stages,
                                 const std::vector<Mesh>& meshes,
                                 const std::set<int64_t>& known) const;
  void Try(int32_t stages, int64_t count, const std::vector<Mesh>& meshes);

  const PlanTask& task_;
  const MeshSearch& search_;
  const int64_t batch_;
  const CutInto cut_;
  const Note note_;
  std::vector<AxisPlaces> like_;
  absl::StatusOr<StageCandidate> best_ = absl::NotFoundError("none tried");
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_STAGE_SEARCH_H_
