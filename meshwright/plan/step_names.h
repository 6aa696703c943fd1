// What a plan says of the operations of a step, which it knows by their names
// (graph/op_names.h) and the search by their numbers.
#ifndef MESHWRIGHT_PLAN_STEP_NAMES_H_
#define MESHWRIGHT_PLAN_STEP_NAMES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "meshwright/graph/flat_graph.h"
#include "meshwright/hlo/computation.h"
#include "meshwright/partition/assignment.h"
#include "meshwright/plan/plan.h"

namespace meshwright {

// Records the strategies of the live ops, and which values are moved apart or
// in place.
void SetAssignment(const FlatGraph& graph, const Assignment& assignment,
                   PlannedLayout& layout);

// The inverse; `rules` are those of the ops. kInvalidArgument, naming it, for
// an op that has no strategy or one that does not fit its rule, and for what
// the step does not have.
absl::StatusOr<Assignment> AssignmentOf(const PlannedLayout& layout,
                                        const FlatGraph& graph,
                                        SharedRules rules);

// By stage, the names of the instructions of its forward pass; `stage_of` is by
// instruction of the micro-batch program, -1 for what is not forward.
std::vector<std::vector<std::string>> ForwardByStage(
    const Computation& micro_batch, absl::Span<const StageId> stage_of,
    int32_t stages);

// The inverse. kInvalidArgument, naming it, for what the micro-batch program
// does not have, and for what two stages claim.
absl::StatusOr<std::vector<StageId>> StagesOf(const PlannedPipeline& pipeline,
                                              const Computation& micro_batch);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_STEP_NAMES_H_
