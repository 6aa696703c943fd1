// From a plan back to its program.
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/microbatch/micro_batch_loop.h"
#include "meshwright/microbatch/sort_in_blocks.h"
#include "meshwright/pipeline_search/pipeline_step.h"
#include "meshwright/pipeline_search/step_for_stages.h"
#include "meshwright/plan/step_names.h"
#include "meshwright/plan/verify_plan.h"
#include "meshwright/planner/plan_prices.h"
#include "meshwright/planner/plan_tensors.h"
#include "meshwright/planner/planner.h"
#include "meshwright/planner/steering.h"
#include "meshwright/planner/summary.h"

namespace meshwright {

absl::StatusOr<PlannedStep> PlannedStep::Of(const Module& module,
                                            int64_t micro_batches,
                                            Recompute recompute,
                                            int64_t row_blocks) {
  PlannedStep step;
  step.given_ = &module;
  if (recompute != Recompute::kNone) {
    MW_ASSIGN_OR_RETURN(Module lean, RecomputeForward(module, recompute));
    step.recomputing_ = std::make_unique<Module>(std::move(lean));
  }
  if (micro_batches > 1) {
    MW_ASSIGN_OR_RETURN(
        Module looped,
        LoopOverMicroBatches(step.recomputing(), {.count = micro_batches,
                                                  .row_blocks = row_blocks}));
    step.made_ = std::make_unique<Module>(std::move(looped));
  } else if (row_blocks > 1) {
    // Before rematerialisation, whose barriers hide where rows come from.
    std::optional<Module> sorted = SortInBlocks(module, 1, row_blocks);
    if (sorted.has_value() && recompute != Recompute::kNone) {
      MW_ASSIGN_OR_RETURN(sorted, RecomputeForward(*sorted, recompute));
    }
    if (sorted.has_value()) {
      step.made_ = std::make_unique<Module>(*std::move(sorted));
    }
  }
  return step;
}

absl::StatusOr<PlannedStep> PlannedStep::Of(const Module& module,
                                            const Plan& plan) {
  if (!plan.pipeline.has_value()) {
    return Of(module, plan.micro_batches, plan.recompute, plan.row_blocks);
  }
  MW_ASSIGN_OR_RETURN(
      std::optional<SplitStep> split,
      StepForStages(module, plan.recompute, plan.pipeline->loop_pieces));
  auto split_module = split.has_value()
                          ? std::make_unique<Module>(std::move(split->module))
                          : nullptr;
  MW_ASSIGN_OR_RETURN(
      PlannedStep step,
      Of(split_module != nullptr ? *split_module : module, plan.micro_batches,
         Recompute::kNone, plan.row_blocks));
  step.split_ = std::move(split_module);
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

// Makes what a non-pipelined plan describes.
class WholeLowering {
 public:
  // Both must outlive it.
  WholeLowering(const Module& module, const Plan& plan)
      : module_(module), plan_(plan) {}

  absl::StatusOr<const Module*> MakeStep() {
    if (plan_.stages() > 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the plan has ", plan_.stages(),
          " stages, each with programs of its own; check and run take it"));
    }
    MW_ASSIGN_OR_RETURN(step_, PlannedStep::Of(module_, plan_));
    return &step_->module();
  }

  // Requires: the step is made.
  absl::StatusOr<std::vector<PlannedCollective>> Lower() {
    const Module& step = step_->module();
    graph_ = Flatten(step);
    MW_ASSIGN_OR_RETURN(
        const Assignment assignment,
        AssignmentOf(plan_.layouts[0], plan_.steering, step, graph_));
    Resharder resharder(&plan_.mesh(), PlanPrices(plan_, plan_.mesh()));
    MW_ASSIGN_OR_RETURN(result_, PartitionAs(step, plan_.mesh(), graph_,
                                             assignment, resharder));
    std::vector<PlannedCollective> collectives;
    AddCollectives(result_->collectives, 1, collectives);
    return collectives;
  }

  // Requires: lowered.
  PlannedTensors Tensors() const {
    const Module& step = step_->module();
    return TensorsOf({step, AnalyzeRoles(step), graph_}, *result_);
  }

  // Requires: lowered. May be called once.
  Partitioned TakeResult() { return *std::move(result_); }

 private:
  const Module& module_;
  const Plan& plan_;
  std::optional<PlannedStep> step_;
  FlatGraph graph_;  // Of the step.
  std::optional<Partitioned> result_;
};

// The same of a pipelined plan.
class StageLowering {
 public:
  StageLowering(const Module& module, const Plan& plan)
      : module_(module), plan_(plan) {}

  absl::StatusOr<const Module*> MakeStep() {
    MW_ASSIGN_OR_RETURN(
        result_.split,
        StepForStages(module_, plan_.recompute, plan_.pipeline->loop_pieces));
    MW_ASSIGN_OR_RETURN(
        step_, PlannedStep::Of(Split(), plan_.micro_batches, Recompute::kNone,
                               plan_.row_blocks));
    return &step_->module();
  }

  absl::StatusOr<std::vector<PlannedCollective>> Lower() {
    graph_ = Flatten(step_->module());
    MW_ASSIGN_OR_RETURN(const PipelineStep step,
                        TakeApart(Split(), AnalyzeRoles(Split()),
                                  {.count = plan_.micro_batches,
                                   .row_blocks = plan_.row_blocks}));
    MW_ASSIGN_OR_RETURN(std::vector<StageId> forward,
                        StagesOf(*plan_.pipeline, *step.micro_batch().entry()));
    result_.timetable = plan_.pipeline->timetable;
    MW_ASSIGN_OR_RETURN(
        result_.step,
        MakeStagePrograms(step.split, {.stages = plan_.stages(),
                                       .forward = std::move(forward),
                                       .state = step.state}));
    MW_RETURN_IF_ERROR(LayOut());
    return CollectivesOf(result_.step, result_.layout, splits_);
  }

  // Requires: lowered.
  PlannedTensors Tensors() const {
    const Module& step = step_->module();
    return TensorsOf({step, AnalyzeRoles(step), graph_}, result_.step,
                     result_.layout, strategies_, LayoutOfStages());
  }

  PlannedStages TakeResult() { return std::move(result_); }

 private:
  // What stages are cut from.
  const Module& Split() const {
    return result_.split.has_value() ? result_.split->module : module_;
  }

  std::vector<int32_t> LayoutOfStages() const {
    std::vector<int32_t> layouts;
    for (const int rank : result_.timetable.rank_of_stage) {
      layouts.push_back(plan_.pipeline->layout_of_rank[rank]);
    }
    return layouts;
  }

  // Every stage on the mesh of its rank.
  absl::Status LayOut() {
    // Strategies refer to them.
    assignments_.resize(plan_.layouts.size());
    for (size_t i = 0; i < plan_.layouts.size(); ++i) {
      const PlannedLayout& layout = plan_.layouts[i];
      MW_ASSIGN_OR_RETURN(
          assignments_[i],
          AssignmentOf(layout, plan_.steering, step_->module(), graph_));
      strategies_.emplace_back(graph_, assignments_[i], layout.mesh);
      prices_.push_back(PlanPrices(plan_, layout.mesh));
    }
    for (const int32_t layout : LayoutOfStages()) {
      splits_.push_back({&plan_.layouts[layout].mesh, &strategies_[layout],
                         &prices_[layout]});
    }
    MW_ASSIGN_OR_RETURN(result_.layout, LayOutStages(result_.step, splits_));
    return absl::OkStatus();
  }

  const Module& module_;
  const Plan& plan_;
  PlannedStages result_;
  std::optional<PlannedStep> step_;
  FlatGraph graph_;  // Of the step.
  // By layout of the plan.
  std::vector<Assignment> assignments_;
  std::vector<StageStrategies> strategies_;
  std::vector<Prices> prices_;
  std::vector<StageSplit> splits_;  // By stage.
};

template <typename Lowering>
auto LowerVerified(const Module& module, const Plan& plan)
    -> absl::StatusOr<decltype(std::declval<Lowering>().TakeResult())> {
  Lowering lowering(module, plan);
  MW_RETURN_IF_ERROR(Verify(plan, module,
                            {.step = [&] { return lowering.MakeStep(); },
                             .collectives = [&] { return lowering.Lower(); },
                             .tensors = [&] { return lowering.Tensors(); }}));
  return lowering.TakeResult();
}

template <typename Lowering>
absl::Status ListWith(const Module& module, Plan& plan) {
  Lowering lowering(module, plan);
  MW_RETURN_IF_ERROR(lowering.MakeStep().status());
  MW_ASSIGN_OR_RETURN(plan.collectives, lowering.Lower());
  plan.tensors = lowering.Tensors();
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Partitioned> PartitionPlan(const Module& module,
                                          const Plan& plan) {
  return LowerVerified<WholeLowering>(module, plan);
}

absl::StatusOr<PlannedStages> StagePlan(const Module& module,
                                        const Plan& plan) {
  return LowerVerified<StageLowering>(module, plan);
}

absl::Status ListAnew(const Module& module, Plan& plan) {
  return plan.stages() > 1 ? ListWith<StageLowering>(module, plan)
                           : ListWith<WholeLowering>(module, plan);
}

}  // namespace meshwright
