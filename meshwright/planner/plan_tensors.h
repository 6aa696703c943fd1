// The arrays of a step between steps, by the names that a plan has for them:
// what its programs take and give, with shapes and shardings.
#ifndef MESHWRIGHT_PLANNER_PLAN_TENSORS_H_
#define MESHWRIGHT_PLANNER_PLAN_TENSORS_H_

#include <cstdint>

#include "absl/types/span.h"
#include "meshwright/analysis/roles.h"
#include "meshwright/graph/flat_graph.h"
#include "meshwright/hlo/module.h"
#include "meshwright/partition/partition.h"
#include "meshwright/pipeline/stage_layout.h"
#include "meshwright/pipeline/stage_programs.h"
#include "meshwright/pipeline/stage_strategies.h"
#include "meshwright/plan/plan.h"

namespace meshwright {

// The step that strategies are for. Requires: `graph` is Flatten(module),
// `roles` are those of the module.
struct StepView {
  const Module& module;
  const ModuleRoles& roles;
  const FlatGraph& graph;
};

// Of a step that is one program.
PlannedTensors TensorsOf(const StepView& step, const Partitioned& split);

// Of stages, on the ranks that hold them: `layout_of_stage` are indices into
// `strategies`.
PlannedTensors TensorsOf(const StepView& step, const StagedStep& staged,
                         const StagedLayout& layout,
                         absl::Span<const StageStrategies> strategies,
                         absl::Span<const int32_t> layout_of_stage);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_PLAN_TENSORS_H_
