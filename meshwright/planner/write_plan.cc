#include "meshwright/planner/write_plan.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/base/units.h"
#include "meshwright/mesh/cluster_file.h"
#include "meshwright/planner/plan_setting.h"
#include "meshwright/planner/steering.h"
#include "meshwright/planner/summary.h"

namespace meshwright {

Mesh NamedMesh(const PlanRequest& request, const Found* found,
               const StepModel& model, const Mesh& mesh) {
  if (request.mesh.has_value()) return mesh;
  if (found == nullptr) return NameInOrder(mesh, request.batch_axis);
  return NameAxes(model, found->plan.assignment, mesh, request.batch_axis);
}

Alternative AlternativeOf(const PlanRequest& request, const Found* found,
                          const CutStep& cut, const Mesh& mesh) {
  return {.mesh = NamedMesh(request, found, cut.model, mesh).ToString(),
          .micro_batches = cut.count,
          .recompute = std::string(Name(cut.recompute))};
}

std::string WhyNot(const absl::Status& status) {
  // The solver would speak of limits and points of time.
  if (absl::IsResourceExhausted(status)) return "does not fit";
  return std::string(status.message());
}

void RecordWritten(const PlanTask& task, const Plan& plan,
                   std::vector<Alternative>& alternatives) {
  const auto sizes = [](const Mesh& mesh) {
    std::vector<int64_t> all;
    for (const MeshAxis& axis : mesh.axes()) all.push_back(axis.size);
    return all;
  };
  for (Alternative& one : alternatives) {
    const absl::StatusOr<Mesh> mesh = Mesh::Parse(one.mesh);
    if (one.micro_batches != plan.micro_batches || one.stages != plan.ranks() ||
        one.recompute != plan.recompute || !mesh.ok() ||
        sizes(*mesh) != sizes(plan.mesh)) {
      continue;
    }
    one.mesh = plan.mesh.ToString();  // Axes may have found another use.
    one.seconds = plan.predicted.search_seconds;
    one.predicted_seconds = plan.predicted.step_seconds;
    one.why_not = plan.predicted.peak_bytes <= task.memory_bytes
                      ? ""
                      : absl::StrCat("its program needs ",
                                     FormatBytes(plan.predicted.peak_bytes),
                                     " of ", FormatBytes(task.memory_bytes));
    return;
  }
}

PlannedLayout LayoutFor(const Found& found, const Mesh& mesh) {
  PlannedLayout layout{.mesh = mesh,
                       .strategies = found.plan.assignment.strategies};
  RecordSharing(found.plan.assignment.sharing, layout);
  return layout;
}

Plan BeginPlan(const PlanTask& task, const Found& found) {
  const StepModel& model = found.cut->model;
  const Mesh mesh = NamedMesh(task.request, &found, model, found.task.mesh);
  Plan plan(LayoutFor(found, mesh));
  plan.module_name = task.module.name();
  plan.fingerprint = Fingerprint(task.module);
  plan.step_fingerprint = Fingerprint(found.cut->step.module());
  plan.strategy = std::string(Name(task.request.expert));
  plan.cluster = ToJson(task.cluster);
  plan.rates = ToJson(task.rates);
  plan.memory_bytes = task.memory_bytes;
  plan.steering = SteeringOf(task.request, found.pins, model, mesh);
  plan.micro_batches = found.cut->count;
  plan.recompute = std::string(Name(found.cut->recompute));
  plan.gap = found.plan.seconds > 0
                 ? 1 - found.plan.bound_seconds / found.plan.seconds
                 : 0;
  plan.predicted.origin = std::string(Name(task.rates.memory.origin));
  plan.predicted.search_seconds = found.seconds();
  return plan;
}

absl::StatusOr<Plan> WritePlan(const PlanTask& task, const Found& found) {
  Plan plan = BeginPlan(task, found);
  const StepModel& model = found.cut->model;
  Resharder resharder(
      &plan.mesh,
      PlanPrices(task.rates, task.cluster, task.request.forbidden, plan.mesh));
  MW_ASSIGN_OR_RETURN(
      const Partitioned split,
      PartitionAs(found.cut->step.module(), plan.mesh, model.graph,
                  found.plan.assignment, resharder));
  MW_RETURN_IF_ERROR(CheckNone(split, task.request.forbidden));
  Summarise(model, split, task.cluster, task.rates, plan);
  return plan;
}

}  // namespace meshwright
