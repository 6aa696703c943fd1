// The ways to lay out a cluster's devices that are worth planning for.
#ifndef MESHWRIGHT_PLANNER_MESHES_TO_TRY_H_
#define MESHWRIGHT_PLANNER_MESHES_TO_TRY_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/mesh/cluster.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/planner/cut_step.h"
#include "meshwright/planner/planner.h"
#include "meshwright/search/step_model.h"

namespace meshwright {

// The requested mesh, or all of one and two axes (of as many as an expert's
// strategy has); those whose inner axis is nearest to a host's size first.
// kInvalidArgument when the requested one needs more devices than there are.
absl::StatusOr<std::vector<Mesh>> MeshesToTry(const Cluster& cluster,
                                              const PlanRequest& request);

// The same for a stage of so many devices, whatever the number of axes.
std::vector<Mesh> MeshesOfStage(const Cluster& cluster, int64_t devices,
                                Expert expert);

// Numbers of micro-batches worth a look, ascending: those that leave an axis of
// some mesh a few examples each, 1, 2, 4 up to `examples`, from the first that
// may fit into `memory` bytes a device on.
std::vector<int64_t> CountsToTry(const StepModel& model,
                                 const std::vector<Mesh>& meshes,
                                 int64_t memory, int64_t examples);

// Whether some axis takes a whole number of the examples of a micro-batch.
bool Suits(const Mesh& mesh, int64_t examples);

// What a step, cut like that, takes on a mesh as the search counts.
struct MeshTime {
  Mesh mesh;
  double seconds = 0;
  std::shared_ptr<const CutStep> cut;
};

// Whether the mesh was far behind the best, in all that was tried on it; or one
// that lies between it and the best of as many axes was.
bool IsHopeless(const Mesh& mesh, const std::vector<MeshTime>& times);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_MESHES_TO_TRY_H_
