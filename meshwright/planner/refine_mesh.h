// Meshes of three axes, derived from good plans on two.
//
//   a plan on x=16,y=4: with x written as two axes of sizes 8 and 2, every
//   tensor can keep its sharding (along both), and some may be better off
//   sharded along one of them alone
//
// So a refined mesh is never worse. What it gains is found by solving for its
// two new axes, one at a time, with the existing plan as warm start.
#ifndef MESHWRIGHT_PLANNER_REFINE_MESH_H_
#define MESHWRIGHT_PLANNER_REFINE_MESH_H_

#include <cstdint>
#include <vector>

#include "meshwright/mesh/cluster.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/plan/plan.h"
#include "meshwright/planner/mesh_search.h"
#include "meshwright/planner/write_plan.h"

namespace meshwright {

// A mesh of which axis `axis` of another mesh was written as two, `axis` and
// `axis` + 1.
struct SplitMesh {
  Mesh mesh;
  int32_t axis = 0;
};

// Every way to split one axis of a mesh, from axis `first` on: first where the
// links change (at host boundaries), then into halves as equal as possible.
// Empty for meshes that list their devices explicitly.
//   x=16,y=4 on hosts of 8: x=8,y=2,z=4; x=4,y=4,z=4; x=2,y=8,z=4; x=16,y=2,z=2
std::vector<SplitMesh> SplitsOf(const Mesh& mesh, const Cluster& cluster,
                                const SearchPolicy& policy, int32_t first = 0);

// The best candidates on meshes with one axis more than those of two axes in
// `found`, where they are noticeably better than these. Records what was tried
// in `alternatives`. `limit`: bytes per device, as the search counts.
std::vector<PlanCandidate> RefinedMeshes(
    const MeshSearch& search, const PlanTask& task, int64_t limit,
    double seconds_left, const std::vector<PlanCandidate>& found,
    std::vector<Alternative>& alternatives);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_REFINE_MESH_H_
