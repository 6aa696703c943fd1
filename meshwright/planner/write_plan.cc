#include "meshwright/planner/write_plan.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/base/units.h"
#include "meshwright/plan/step_names.h"
#include "meshwright/planner/batch_axis.h"
#include "meshwright/planner/plan_prices.h"
#include "meshwright/planner/steering.h"
#include "meshwright/planner/summary.h"
#include "meshwright/search/expert_axes.h"

namespace meshwright {

Mesh NamedMesh(const PlanRequest& request, const PlanCandidate* found,
               const StepModel& model, const Mesh& mesh) {
  if (request.mesh.has_value()) return mesh;
  if (IsRecipe(request.expert)) {
    const std::vector<int32_t> batch =
        AxesOf(request.expert, mesh, BatchAxisOf(request, mesh)).batch;
    return NameBatchAxis(
        mesh, batch.empty() ? std::nullopt : std::optional(batch.front()),
        request.batch_axis);
  }
  if (found == nullptr) return NameBatchAxis(mesh, 0, request.batch_axis);
  return NameAxes(model, found->plan().assignment, mesh, request.batch_axis);
}

Alternative AlternativeOf(const PlanRequest& request,
                          const PlanCandidate* found,
                          const StepVariant& variant, const Mesh& mesh) {
  return {.mesh = NamedMesh(request, found, variant.model, mesh).ToString(),
          .micro_batches = variant.count,
          .recompute = variant.recompute};
}

std::string WhyNot(const absl::Status& status) {
  // The solver's message would be about limits and points of time.
  if (absl::IsResourceExhausted(status)) return "does not fit";
  return std::string(status.message());
}

Alternative* FindAlternative(std::vector<Alternative>& alternatives,
                             const Mesh& mesh, int64_t micro_batches,
                             int32_t ranks, Recompute recompute) {
  const auto sizes = [](const Mesh& of) {
    std::vector<int64_t> all;
    for (const MeshAxis& axis : of.axes()) all.push_back(axis.size);
    return all;
  };
  for (Alternative& one : alternatives) {
    const absl::StatusOr<Mesh> its = Mesh::Parse(one.mesh);
    if (one.micro_batches == micro_batches && one.stages == ranks &&
        one.recompute == recompute && its.ok() && sizes(*its) == sizes(mesh)) {
      return &one;
    }
  }
  return nullptr;
}

void RecordWritten(const PlanTask& task, const Plan& plan,
                   std::vector<Alternative>& alternatives) {
  Alternative* one =
      FindAlternative(alternatives, plan.mesh(), plan.micro_batches,
                      plan.ranks(), plan.recompute);
  if (one == nullptr) return;
  // Names may have changed with the axes' purposes.
  one->mesh = plan.mesh().ToString();
  one->seconds = plan.predicted.search_seconds;
  one->predicted_seconds = plan.predicted.step_seconds;
  one->why_not =
      plan.NeededBytes() <= task.memory_bytes
          ? ""
          : absl::StrCat("its program needs ", FormatBytes(plan.NeededBytes()),
                         " of ", FormatBytes(task.memory_bytes));
}

PlannedLayout LayoutFor(const PlanCandidate& found, const Mesh& mesh) {
  PlannedLayout layout{.mesh = mesh};
  SetAssignment(found.variant().model.graph, found.plan().assignment, layout);
  return layout;
}

Plan BeginPlan(const PlanTask& task, const PlanCandidate& found) {
  const StepModel& model = found.variant().model;
  const Mesh mesh =
      NamedMesh(task.request, &found, model, found.setting().mesh);
  Plan plan(LayoutFor(found, mesh));
  plan.module_name = task.module.name();
  plan.fingerprint = Fingerprint(task.module);
  plan.step_fingerprint = Fingerprint(found.variant().step.module());
  plan.strategy = task.request.expert;
  plan.cluster = task.cluster;
  plan.rates = task.rates;
  plan.memory_bytes = task.memory_bytes;
  plan.steering = SteeringOf(task.request, found.pins(), model, mesh);
  plan.micro_batches = found.variant().count;
  plan.recompute = found.variant().recompute;
  plan.row_blocks = task.context.row_blocks;
  plan.gap = found.gap();
  plan.predicted.origin = task.rates.memory.origin;
  plan.predicted.search_seconds = found.seconds();
  return plan;
}

absl::StatusOr<Plan> WritePlan(const PlanTask& task,
                               const PlanCandidate& found) {
  Plan plan = BeginPlan(task, found);
  const StepModel& model = found.variant().model;
  Resharder resharder(
      &plan.mesh(), PlanPrices(task.rates, task.cluster, task.request.forbidden,
                               plan.mesh()));
  MW_ASSIGN_OR_RETURN(
      const Partitioned split,
      PartitionAs(found.variant().step.module(), plan.mesh(), model.graph,
                  found.plan().assignment, resharder));
  MW_RETURN_IF_ERROR(CheckNone(split, task.request.forbidden));
  Summarise(model, split, task.cluster, task.rates, plan);
  return plan;
}

}  // namespace meshwright
