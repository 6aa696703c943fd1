// The plan that takes least memory, whatever the time.
#ifndef MESHWRIGHT_PLANNER_LEANEST_H_
#define MESHWRIGHT_PLANNER_LEANEST_H_

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/planner/mesh_search.h"
#include "meshwright/planner/write_plan.h"

namespace meshwright {

// Tries the settings that could take least, with hardly more than that; `cuts`
// by number of micro-batches. `last`: why others cannot be.
absl::StatusOr<Plan> PlanLeanest(const PlanTask& task, const MeshSearch& search,
                                 const std::vector<Mesh>& meshes,
                                 const Cuts& cuts, absl::Status last);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_LEANEST_H_
