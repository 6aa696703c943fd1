// The best strategies for a step on one mesh.
#ifndef MESHWRIGHT_SEARCH_PLAN_MESH_H_
#define MESHWRIGHT_SEARCH_PLAN_MESH_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "meshwright/cost/rates.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/partition/assignment.h"
#include "meshwright/reshard/prices.h"
#include "meshwright/reshard/reshard_path_cache.h"
#include "meshwright/search/mesh_problem.h"
#include "meshwright/search/step_model.h"
#include "meshwright/solve/solve.h"

namespace meshwright {

struct MeshTask {
  Mesh mesh;
  Prices prices;
  // Memoised reshard paths of this mesh at these prices, added to; null: start
  // without any.
  std::shared_ptr<ReshardPathCache> ways;
  // Rates of computing; null: computing is priced by `prices`.
  const Rates* rates = nullptr;
  std::optional<int64_t> memory_limit;  // Bytes per device.
  // The mesh is that of one of so many pipeline stages, which holds this share
  // of the residuals kept per micro-batch.
  double stages = 1;
  Demands demands;
  SolveOptions solve;
  // The axis placement of a plan to start from, of this mesh or one with as
  // many axes.
  std::vector<AxisPlaces> warm_start;
  SharedForms warm_start_shared;  // If that plan is of this mesh.
  // If set, `warm_start` is a plan of this mesh that takes this long, and the
  // search stops as soon as neither `first_axis` nor the axes after it improve
  // on it.
  std::optional<double> warm_start_seconds;
  int32_t first_axis = 0;  // The axis that SketchMesh solves for first.
};

struct MeshPlan {
  Assignment assignment;
  // Computing and reshards, the sum that the search minimises.
  double seconds = 0;
  double bound_seconds = 0;  // No plan on this mesh takes less.
  // The estimated time of its program, with combined and overlapped
  // collectives. Plans of different meshes and step variants are compared by
  // this.
  StepTime time;
  std::vector<AxisPlaces> placements;  // By group.
  SharedForms shared;
  int64_t peak_bytes = 0;
};

// kResourceExhausted if no solution within the memory limit was found;
// kInvalidArgument, naming an instruction, if the demands leave it no option.
absl::StatusOr<MeshPlan> PlanMesh(const StepModel& model, const MeshTask& task);

// A quick lower bound on PlanMesh's seconds: the least time of computing.
double BoundOf(const StepModel& model, const MeshTask& task);

// The approximate size of PlanMesh's problem, in cells of its cost tables.
int64_t CellsOf(const StepModel& model, const Mesh& mesh);

// A good plan quickly: solves for one axis at a time, with the others fixed,
// until that gains nothing. For meshes of several axes it has no bound.
absl::StatusOr<MeshPlan> SketchMesh(const StepModel& model,
                                    const MeshTask& task);

}  // namespace meshwright

#endif  // MESHWRIGHT_SEARCH_PLAN_MESH_H_
