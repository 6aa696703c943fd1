// Operations on lists of candidates of several meshes, micro-batch counts and
// rematerialisation policies.
#ifndef MESHWRIGHT_PLANNER_PLAN_CANDIDATES_H_
#define MESHWRIGHT_PLANNER_PLAN_CANDIDATES_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "meshwright/mesh/mesh.h"
#include "meshwright/planner/plan_candidate.h"
#include "meshwright/planner/search_policy.h"

namespace meshwright {

// The candidate with the least step time, of equal ones the first; its list
// must not be empty.
size_t IndexOfQuickest(std::span<const PlanCandidate> found);
// Null if the list is empty.
const PlanCandidate* QuickestOf(const std::vector<PlanCandidate>& found);
// Its step time; infinite if the list is empty.
double SecondsOf(const std::vector<PlanCandidate>& found);
// Whether some candidate has fewer micro-batches than `count` and
// rematerialises no more than `recompute`.
bool FitsWithFewer(const std::vector<PlanCandidate>& found, Recompute recompute,
                   int64_t count);

// The `kept` candidates that are worth more work, best first; another one that
// is proven near-optimal if it is about as good as the best, and for each
// rematerialisation policy one that is near the best.
std::vector<PlanCandidate> Promising(std::vector<PlanCandidate> found,
                                     size_t kept, const SearchPolicy& policy);
// Whether some candidate is proven near-optimal and about as good as the best.
bool HasProven(std::span<const PlanCandidate> found,
               const SearchPolicy& policy);

// The meshes of the best candidates and, since it is cheap to search, the one
// with a single axis. All of `meshes` if nothing was found.
std::vector<Mesh> PromisingMeshes(const std::vector<PlanCandidate>& found,
                                  const std::vector<Mesh>& meshes,
                                  const SearchPolicy& policy);

// A lower bound on all plans of step variant `variant` on the mesh of `setting`
// at its prices, from the bounds of `found`.
double BoundOn(const std::vector<PlanCandidate>& found,
               const StepVariant& variant, const Setting& setting);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_PLAN_CANDIDATES_H_
