#include "meshwright/planner/sorted_rows.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "meshwright/base/status_macros.h"
#include "meshwright/graph/flat_graph.h"
#include "meshwright/microbatch/sort_in_blocks.h"
#include "meshwright/plan/step_names.h"
#include "meshwright/planner/find_plan.h"
#include "meshwright/planner/steering.h"

namespace meshwright {
namespace {

// The most devices among which a sort of the plan's step is split.
absl::StatusOr<int64_t> DevicesPerSort(const Module& module, const Plan& plan) {
  MW_ASSIGN_OR_RETURN(const PlannedStep step, PlannedStep::Of(module, plan));
  const FlatGraph graph = Flatten(step.module());
  int64_t most = 1;
  for (const PlannedLayout& layout : plan.layouts) {
    MW_ASSIGN_OR_RETURN(
        std::vector<Rule> rules,
        RulesOf(plan.steering, step.module(), graph, layout.mesh));
    MW_ASSIGN_OR_RETURN(const Assignment assignment,
                        AssignmentOf(layout, graph, std::move(rules)));
    for (OpId id{0}; id < static_cast<OpId>(graph.ops.size()); ++id) {
      const FlatOp& op = graph.ops[id];
      if (!op.live || op.kind != OpKind::kCompute ||
          op.instruction->opcode != Opcode::kSort) {
        continue;
      }
      int64_t devices = 1;
      for (const AxisList& axes : assignment.strategies[id].factor_axes) {
        devices *= layout.mesh.Size(axes);
      }
      most = std::max(most, devices);
    }
  }
  return most;
}

}  // namespace

absl::StatusOr<PlanChoice> FindPlanSortingInBlocks(const Module& module,
                                                   const Cluster& cluster,
                                                   const Rates& rates,
                                                   const PlanRequest& request,
                                                   const SearchMode& mode,
                                                   const SearchPolicy& policy) {
  const int64_t devices = request.mesh.has_value()
                              ? request.mesh->device_count()
                              : cluster.device_count();
  const auto find = [&](int64_t blocks) {
    SearchMode sorting = mode;
    sorting.row_blocks = blocks;
    return FindPlan(module, cluster, rates, request, sorting, policy);
  };
  if (!SortInBlocks(module, 1, devices).has_value()) return find(1);
  MW_ASSIGN_OR_RETURN(PlanChoice choice, find(devices));
  MW_ASSIGN_OR_RETURN(const int64_t used, DevicesPerSort(module, choice.plan));
  if (used < devices) {
    absl::StatusOr<PlanChoice> fewer = find(used);
    if (fewer.ok() && fewer->plan.predicted.step_seconds <=
                          choice.plan.predicted.step_seconds) {
      choice = *std::move(fewer);
    }
  }
  if (choice.plan.row_blocks > 1) {
    choice.plan.notes.push_back(SortedRowsNote(choice.plan.row_blocks));
  }
  return choice;
}

}  // namespace meshwright
