// The plan that needs the least memory, whatever its step time.
#ifndef MESHWRIGHT_PLANNER_LEANEST_H_
#define MESHWRIGHT_PLANNER_LEANEST_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/planner/mesh_search.h"
#include "meshwright/planner/write_plan.h"

namespace meshwright {

// Tries the settings that could need the least memory, each with a limit hardly
// above its lower bound. `variants`: one for each micro-batch
// count, ascending. `last`: the error to return if none can be planned.
absl::StatusOr<Plan> PlanLeanest(
    const PlanTask& task, const MeshSearch& search,
    const std::vector<Mesh>& meshes,
    std::span<const std::shared_ptr<const StepVariant>> variants,
    absl::Status last);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_LEANEST_H_
