// From a plan back to its program.
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/microbatch/micro_batch_loop.h"
#include "meshwright/pipeline_search/pipeline_step.h"
#include "meshwright/pipeline_search/step_for_stages.h"
#include "meshwright/plan/step_names.h"
#include "meshwright/plan/verify_plan.h"
#include "meshwright/planner/plan_prices.h"
#include "meshwright/planner/planner.h"
#include "meshwright/planner/steering.h"
#include "meshwright/planner/summary.h"

namespace meshwright {

absl::StatusOr<PlannedStep> PlannedStep::Of(const Module& module,
                                            int64_t micro_batches,
                                            Recompute recompute) {
  PlannedStep step;
  step.given_ = &module;
  if (recompute != Recompute::kNone) {
    MW_ASSIGN_OR_RETURN(Module lean, RecomputeForward(module, recompute));
    step.made_ = std::make_unique<Module>(std::move(lean));
  }
  if (micro_batches > 1) {
    MW_ASSIGN_OR_RETURN(
        Module looped,
        LoopOverMicroBatches(step.module(), {.count = micro_batches}));
    step.made_ = std::make_unique<Module>(std::move(looped));
  }
  return step;
}

namespace {

// The plan's strategies, checked against the step's.
absl::StatusOr<Assignment> AssignmentOf(const PlannedLayout& layout,
                                        const Steering& steering,
                                        const Module& step,
                                        const FlatGraph& graph) {
  MW_ASSIGN_OR_RETURN(std::vector<Rule> rules,
                      RulesOf(steering, step, graph, layout.mesh));
  return AssignmentOf(layout, graph, std::move(rules));
}

// Every stage on the mesh of its rank, according to the plan.
absl::StatusOr<StagedLayout> LayOutAsPlanned(const StagedStep& step,
                                             const Module& looped,
                                             const FlatGraph& graph,
                                             const Timetable& timetable,
                                             const Plan& plan) {
  // Their addresses are kept.
  std::vector<Assignment> assignments(plan.layouts.size());
  std::vector<Prices> prices;
  std::vector<StageStrategies> strategies;
  for (size_t i = 0; i < plan.layouts.size(); ++i) {
    const PlannedLayout& layout = plan.layouts[i];
    MW_ASSIGN_OR_RETURN(assignments[i],
                        AssignmentOf(layout, plan.steering, looped, graph));
    strategies.emplace_back(graph, assignments[i], layout.mesh);
    prices.push_back(PlanPrices(plan, layout.mesh));
  }
  std::vector<StageSplit> splits;
  for (const int rank : timetable.rank_of_stage) {
    const int32_t layout = plan.pipeline->layout_of_rank[rank];
    splits.push_back(
        {&plan.layouts[layout].mesh, &strategies[layout], &prices[layout]});
  }
  return LayOutStages(step, splits);
}

absl::StatusOr<Partitioned> LowerWhole(const Module& module, const Plan& plan) {
  MW_RETURN_IF_ERROR(VerifyModule(plan, module));
  if (plan.stages() > 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the plan has ", plan.stages(),
        " stages, each with programs of its own; check and run take it"));
  }
  MW_ASSIGN_OR_RETURN(
      const PlannedStep step,
      PlannedStep::Of(module, plan.micro_batches, plan.recompute));
  MW_RETURN_IF_ERROR(VerifyStep(plan, step.module()));
  const FlatGraph graph = Flatten(step.module());
  MW_ASSIGN_OR_RETURN(
      const Assignment assignment,
      AssignmentOf(plan.layouts[0], plan.steering, step.module(), graph));
  Resharder resharder(&plan.mesh(), PlanPrices(plan, plan.mesh()));
  return PartitionAs(step.module(), plan.mesh(), graph, assignment, resharder);
}

absl::StatusOr<PlannedStages> LowerStages(const Module& module,
                                          const Plan& plan) {
  MW_RETURN_IF_ERROR(VerifyModule(plan, module));
  PlannedStages stages;
  MW_ASSIGN_OR_RETURN(stages.split, StepForStages(module, plan.recompute,
                                                  plan.pipeline->loop_pieces));
  const Module& cut = stages.split.has_value() ? stages.split->module : module;
  MW_ASSIGN_OR_RETURN(
      const PlannedStep looped,
      PlannedStep::Of(cut, plan.micro_batches, Recompute::kNone));
  MW_RETURN_IF_ERROR(VerifyStep(plan, looped.module()));
  const FlatGraph graph = Flatten(looped.module());
  MW_ASSIGN_OR_RETURN(
      const PipelineStep step,
      TakeApart(cut, AnalyzeRoles(cut), {.count = plan.micro_batches}));
  MW_ASSIGN_OR_RETURN(std::vector<int32_t> forward,
                      StagesOf(*plan.pipeline, *step.micro_batch().entry()));
  MW_ASSIGN_OR_RETURN(stages.timetable, ParseCsv(plan.pipeline->timetable));
  if (stages.timetable.stages() != plan.stages() ||
      stages.timetable.ranks() != plan.ranks()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the plan has ", plan.stages(), " stages on ", plan.ranks(),
        " ranks, its timetable ", stages.timetable.stages(), " on ",
        stages.timetable.ranks()));
  }
  MW_ASSIGN_OR_RETURN(
      stages.step, MakeStagePrograms(step.split, {.stages = plan.stages(),
                                                  .forward = std::move(forward),
                                                  .state = step.state}));
  MW_ASSIGN_OR_RETURN(stages.layout,
                      LayOutAsPlanned(stages.step, looped.module(), graph,
                                      stages.timetable, plan));
  return stages;
}

}  // namespace

absl::StatusOr<Partitioned> PartitionPlan(const Module& module,
                                          const Plan& plan) {
  MW_ASSIGN_OR_RETURN(Partitioned split, LowerWhole(module, plan));
  std::vector<PlannedCollective> lowered;
  AddCollectives(split.collectives, 1, lowered);
  MW_RETURN_IF_ERROR(VerifyCollectives(plan, lowered));
  return split;
}

absl::StatusOr<PlannedStages> StagePlan(const Module& module,
                                        const Plan& plan) {
  MW_ASSIGN_OR_RETURN(PlannedStages stages, LowerStages(module, plan));
  MW_RETURN_IF_ERROR(
      VerifyCollectives(plan, CollectivesOf(stages.step, stages.layout)));
  return stages;
}

absl::Status ListCollectives(const Module& module, Plan& plan) {
  if (plan.stages() > 1) {
    MW_ASSIGN_OR_RETURN(const PlannedStages stages, LowerStages(module, plan));
    plan.collectives = CollectivesOf(stages.step, stages.layout);
    return absl::OkStatus();
  }
  MW_ASSIGN_OR_RETURN(const Partitioned split, LowerWhole(module, plan));
  plan.collectives.clear();
  AddCollectives(split.collectives, 1, plan.collectives);
  return absl::OkStatus();
}

}  // namespace meshwright
