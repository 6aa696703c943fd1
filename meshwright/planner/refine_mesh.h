// Meshes of three axes, reached from good plans of two.
//
//   a plan on x=16,y=4; with x as two axes, 8 and 2, every tensor can lie as it
//   did (along both), and some may be better off along one of them alone
//
// So a refined mesh is never worse, and what it is worth shows after solving
// for its two new axes, one at a time, from where the plan is.
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

// A mesh with axis `axis` of another written as two, `axis` and the next.
struct SplitMesh {
  Mesh mesh;
  int32_t axis = 0;
};

// Every way to split one axis of a mesh, from axis `first` on; first where
// devices are joined by other links (the ends of hosts), then in halves that
// are as equal as can be. None of meshes that list their devices.
//   x=16,y=4 on hosts of 8: x=8,y=2,z=4; x=4,y=4,z=4; x=2,y=8,z=4; x=16,y=2,z=2
std::vector<SplitMesh> SplitsOf(const Mesh& mesh, const Cluster& cluster,
                                int32_t first = 0);

// Adds to `found` the best plans on meshes with one axis more, of those of two
// axes that are there; only where noticeably better than these. What was tried
// is added to `alternatives`. Of steps that are not small few meshes are, of
// large ones none. `limit`: bytes on
// a device, as the search counts.
void RefineMeshes(const MeshSearch& search, const PlanTask& task, int64_t limit,
                  double seconds_left, std::vector<Found>& found,
                  std::vector<Alternative>& alternatives);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_REFINE_MESH_H_
