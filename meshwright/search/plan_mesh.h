// The best split of a step over one mesh.
#ifndef MESHWRIGHT_SEARCH_PLAN_MESH_H_
#define MESHWRIGHT_SEARCH_PLAN_MESH_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "meshwright/cost/rates.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/partition/assignment.h"
#include "meshwright/reshard/known_ways.h"
#include "meshwright/reshard/prices.h"
#include "meshwright/search/mesh_problem.h"
#include "meshwright/search/step_model.h"
#include "meshwright/solve/solve.h"

namespace meshwright {

struct MeshTask {
  Mesh mesh;
  Prices prices;
  // Of this mesh at these prices, added to; null: none are known yet.
  std::shared_ptr<KnownWays> ways;
  // What computing takes; null: as the prices say.
  const Rates* rates = nullptr;
  std::optional<int64_t> memory_limit;  // Bytes on a device.
  // The mesh is that of one of so many stages: it holds that part of what is
  // kept from micro-batch to micro-batch.
  double stages = 1;
  Demands demands;
  SolveOptions solve;
  // A plan to start from, of this mesh or one with as many axes.
  std::vector<AxisPlaces> like;
  SharedForms like_shared;  // Of a plan of this mesh.
  // That plan is one of this mesh, and takes so long; no other is looked for
  // once neither `first_axis` nor those after it can do better.
  std::optional<double> like_seconds;
  int32_t first_axis = 0;  // A sketch begins with.
};

struct MeshPlan {
  Assignment assignment;
  double seconds = 0;        // Work and moves, as the search counts them.
  double bound_seconds = 0;  // No plan on this mesh takes less.
  // What its program will about take, with what is combined and hidden; what
  // plans of different meshes and steps are compared by.
  StepTime time;
  std::vector<AxisPlaces> placements;  // By group.
  SharedForms shared;
  int64_t peak_bytes = 0;
};

// kResourceExhausted when memory does not suffice; kInvalidArgument, naming an
// instruction, when the demand leaves it nothing.
absl::StatusOr<MeshPlan> PlanMesh(const StepModel& model, const MeshTask& task);

// A bound on PlanMesh, soon: what computing takes at least.
double BoundOf(const StepModel& model, const MeshTask& task);

// About how large PlanMesh's problem is, in cells of its tables.
int64_t CellsOf(const StepModel& model, const Mesh& mesh);

// A good plan, soon: axis by axis, with the others where they are, until that
// gains nothing. Of more than one axis without a bound.
absl::StatusOr<MeshPlan> SketchMesh(const StepModel& model,
                                    const MeshTask& task);

}  // namespace meshwright

#endif  // MESHWRIGHT_SEARCH_PLAN_MESH_H_
