// Lists of sketched plans, of several meshes, numbers of micro-batches and
// recomputations.
#ifndef MESHWRIGHT_PLANNER_FOUND_PLANS_H_
#define MESHWRIGHT_PLANNER_FOUND_PLANS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "meshwright/mesh/mesh.h"
#include "meshwright/planner/mesh_search.h"

namespace meshwright {

// The one that takes least time; null when there is none.
const Found* QuickestOf(const std::vector<Found>& found);
// How long it takes; infinite when there is none.
double SecondsOf(const std::vector<Found>& found);
// Whether one of them does with fewer micro-batches and no more recomputation.
bool FitsWithFewer(const std::vector<Found>& found, Recompute recompute,
                   int64_t count);

// Part of its time that a plan is at most above the best on its mesh.
double GapOf(const Found& found);

// The few that are worth more work, best first; of steps that are not large
// more. One that is proven is among them if it is about as good as the best,
// and of everything that may be computed again one that is near it.
void KeepPromising(bool is_large, std::vector<Found>& found);
// Whether one is proven, and about as good as the best.
bool HasProven(std::span<const Found> found);

// Those of `meshes` that were best; that of one axis, which is soon looked at,
// too. All when nothing was found.
std::vector<Mesh> PromisingMeshes(const std::vector<Found>& found,
                                  const std::vector<Mesh>& meshes);

// A bound on all plans of that step on that mesh, from those of `found`.
double BoundOn(const std::vector<Found>& found, const CutStep& cut,
               const Mesh& mesh);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_FOUND_PLANS_H_
