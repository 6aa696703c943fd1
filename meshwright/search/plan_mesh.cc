#include "meshwright/search/plan_mesh.h"

#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"

namespace meshwright {

absl::StatusOr<MeshPlan> PlanMesh(const StepModel& model,
                                  const MeshTask& task) {
  Resharder resharder(&task.mesh, task.prices);
  const MeshProblem problem(model, task.mesh, task.prices, task.rates,
                            resharder, task.memory_limit, task.demand);
  if (!problem.impossible().empty()) {
    const FlatOp& op = model.op(problem.impossible()[0]);
    return absl::InvalidArgumentError(absl::StrCat(
        op.instruction->name, " cannot be split as asked for on the mesh ",
        task.mesh.ToString()));
  }
  SolveOptions options = task.solve;
  if (!task.like.empty()) options.initial = problem.Like(task.like);
  MW_ASSIGN_OR_RETURN(const Solution solution,
                      Solve(problem.problem(), options));
  MeshPlan plan;
  plan.assignment = problem.ToAssignment(solution.assignment);
  plan.seconds = static_cast<double>(solution.cost) / kUnitsPerSecond;
  plan.bound_seconds =
      static_cast<double>(solution.lower_bound) / kUnitsPerSecond;
  plan.peak_bytes = Evaluate(problem.problem(), solution.assignment).peak_usage;
  plan.placements = problem.PlacementsOf(solution.assignment);
  return plan;
}

}  // namespace meshwright
