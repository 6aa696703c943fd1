// Lists of sketched plans, of several meshes, numbers of micro-batches and
// recomputations.
#ifndef MESHWRIGHT_PLANNER_FOUND_PLANS_H_
#define MESHWRIGHT_PLANNER_FOUND_PLANS_H_

#include <cstdint>
#include <vector>

#include "meshwright/mesh/mesh.h"
#include "meshwright/planner/mesh_search.h"

namespace meshwright {

// The one that takes least time; null when there is none.
const Found* QuickestOf(const std::vector<Found>& found);
// How long it takes; infinite when there is none.
double SecondsOf(const std::vector<Found>& found);
// Whether one of them does with no more micro-batches and less recomputation,
// or with fewer and no more.
bool FitsWithLess(const std::vector<Found>& found, Recompute recompute,
                  int64_t count);

// The few that are worth more work, best first; of small steps more.
void KeepPromising(std::vector<Found>& found);

// Those of `meshes` that were best; that of one axis, which is soon looked at,
// too. All when nothing was found.
std::vector<Mesh> PromisingMeshes(const std::vector<Found>& found,
                                  const std::vector<Mesh>& meshes);

// What bounds all plans of a step on a mesh bounds an expert's.
void ShareBounds(const std::vector<Found>& found, std::vector<Found>& experts);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_FOUND_PLANS_H_
