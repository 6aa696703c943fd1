// The best strategies for a step on one mesh.
#ifndef MESHWRIGHT_SEARCH_PLAN_MESH_H_
#define MESHWRIGHT_SEARCH_PLAN_MESH_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/partition/assignment.h"
#include "meshwright/search/mesh_problem.h"
#include "meshwright/search/mesh_task.h"
#include "meshwright/search/step_model.h"

namespace meshwright {

struct MeshPlan {
  Assignment assignment;
  // Computing and reshards, the sum that the search minimises.
  double seconds = 0;
  double bound_seconds = 0;  // No plan on this mesh takes less.
  // The estimated time of its program, with combined and overlapped
  // collectives. Plans of different meshes and step variants are compared by
  // this.
  StepTime time;
  std::vector<AxisPlaces> axis_places;  // By group.
  SharedForms shared;
  int64_t peak_bytes = 0;
};

// kResourceExhausted if no solution within the memory limit was found;
// kInvalidArgument, naming an instruction, if the requirements leave it no
// option.
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
