#include "meshwright/planner/stage_plan.h"

#include <algorithm>
#include <utility>

#include "meshwright/base/status_macros.h"
#include "meshwright/planner/mesh_search.h"
#include "meshwright/planner/plan_setting.h"
#include "meshwright/planner/predict_stages.h"
#include "meshwright/planner/summary.h"
#include "meshwright/schedule/generate.h"
#include "meshwright/schedule/generate_auto.h"
#include "meshwright/schedule/lower_bound.h"
#include "meshwright/schedule/simulate.h"
#include "meshwright/search/pipeline_step.h"
#include "meshwright/search/step_for_stages.h"

namespace meshwright {
namespace {

// Of the search for a timetable; actions simulated.
constexpr int64_t kScheduleWork = 1'000'000;

// With more bubbles than that, and in steps that are not too large, ranks may
// have two stages.
constexpr double kManyBubbles = 0.03;

struct Scheduled {
  AutoTimetable best;
  Simulation run;
};

Scheduled RunOf(AutoTimetable best, const PipelineCosts& costs) {
  Simulation run = SimulateValid(best.timetable, costs, /*record=*/false);
  best.step_seconds = run.step_seconds;
  return {std::move(best), std::move(run)};
}

// The fastest that fits, or the one asked for.
absl::StatusOr<Scheduled> Schedule(const PipelineShape& shape,
                                   const PipelineCosts& costs,
                                   std::optional<ScheduleKind> wanted) {
  if (wanted.has_value() && *wanted != ScheduleKind::kAuto) {
    MW_ASSIGN_OR_RETURN(Timetable timetable, MakeTimetable(shape, *wanted));
    const double bound = StepLowerBound(timetable.rank_of_stage, shape.ranks,
                                        shape.micro_batches, costs);
    return RunOf({.timetable = std::move(timetable),
                  .lower_bound = bound,
                  .origin = *wanted},
                 costs);
  }
  absl::StatusOr<AutoTimetable> best =
      MakeAutoTimetable(shape, costs, {.work_limit = kScheduleWork});
  if (!absl::IsResourceExhausted(best.status())) {
    MW_RETURN_IF_ERROR(best.status());
    return RunOf(*std::move(best), costs);
  }
  const ScheduleKind lean = shape.stages > shape.ranks
                                ? ScheduleKind::kInterleaved
                                : ScheduleKind::k1F1B;
  MW_ASSIGN_OR_RETURN(Timetable timetable, MakeTimetable(shape, lean));
  return RunOf({.timetable = std::move(timetable), .origin = lean}, costs);
}

// What a rank has left, beside what its stages always hold.
std::vector<int64_t> RoomOf(const StagePrediction& predicted, int32_t ranks,
                            int64_t memory) {
  std::vector<int64_t> room(ranks, 0);
  std::vector<int64_t> fixed(ranks, 0);
  for (size_t stage = 0; stage < predicted.fixed_bytes.size(); ++stage) {
    const size_t rank = stage % ranks;
    fixed[rank] += predicted.fixed_bytes[stage];
    room[rank] = std::max(room[rank], predicted.room_bytes[stage]);
  }
  for (int32_t rank = 0; rank < ranks; ++rank) {
    room[rank] = std::max<int64_t>(0, memory - fixed[rank] - room[rank]);
  }
  return room;
}

std::vector<Sharding> AllAtRest(const StageStrategies& strategies,
                                const StepModel& model) {
  std::vector<Sharding> shardings;
  for (size_t leaf = 0; leaf < model.graph.parameters.size(); ++leaf) {
    shardings.push_back(strategies.AtRest(static_cast<int64_t>(leaf)));
  }
  return shardings;
}

std::vector<Sharding> OutputsOf(const StagedStep& step,
                                const StagedLayout& layout,
                                const std::vector<Sharding>& parameters) {
  std::vector<Sharding> shardings;
  for (const StageInput& output : step.outputs) {
    shardings.push_back(
        output.kind == StageInput::Kind::kParameter
            ? parameters[output.index]
            : layout.values.at(
                  {output.index,
                   step.programs[step.values[output.index].program].stage}));
  }
  return shardings;
}

void Record(const StagePrediction& predicted, const Scheduled& scheduled,
            Plan& plan) {
  PlannedPipeline& pipeline = *plan.pipeline;
  pipeline.schedule = std::string(ToString(scheduled.best.origin));
  pipeline.timetable = ToCsv(scheduled.best.timetable);
  pipeline.apply_after_all = predicted.costs.apply_after_all;
  pipeline.bubble_share = scheduled.run.bubble_share;
  const Timetable& timetable = scheduled.best.timetable;
  const auto ranks = static_cast<size_t>(timetable.ranks());
  pipeline.ranks = timetable.ranks();
  std::vector<int64_t> fixed(ranks, 0);
  std::vector<int64_t> room(ranks, 0);
  std::vector<double> compute(ranks, 0);
  std::vector<double> exposed(ranks, 0);
  std::vector<double> comm(ranks, 0);
  std::vector<double> bytes(ranks, 0);
  for (size_t stage = 0; stage < predicted.costs.stages.size(); ++stage) {
    const StageCost& cost = predicted.costs.stages[stage];
    pipeline.stages.push_back({.forward = cost.forward,
                               .input_grad = cost.input_grad,
                               .weight_grad = cost.weight_grad,
                               .apply = cost.apply,
                               .held_bytes = cost.held_bytes,
                               .kept_bytes = cost.KeptBytes(),
                               .fixed_bytes = predicted.fixed_bytes[stage] +
                                              predicted.room_bytes[stage]});
    const int rank = timetable.rank_of_stage[stage];
    fixed[rank] += predicted.fixed_bytes[stage];
    room[rank] = std::max(room[rank], predicted.room_bytes[stage]);
    // Stages of a rank run one after the other.
    compute[rank] += predicted.compute_seconds[stage];
    exposed[rank] += predicted.exposed_seconds[stage];
    comm[rank] += predicted.comm_seconds[stage];
    bytes[rank] += predicted.comm_bytes[stage];
  }
  for (const StageEdge& edge : predicted.costs.edges) {
    pipeline.edges.push_back({edge.from, edge.to, edge.forward_seconds,
                              edge.backward_seconds, edge.forward_bytes,
                              edge.backward_bytes});
  }
  for (size_t stage = 0; stage < pipeline.stages.size(); ++stage) {
    const int rank = timetable.rank_of_stage[stage];
    pipeline.stages[stage].peak_bytes =
        fixed[rank] + room[rank] + scheduled.run.peak_bytes[rank];
  }
  Prediction& total = plan.predicted;
  total.step_seconds = scheduled.run.step_seconds;
  total.compute_seconds = std::ranges::max(compute);
  total.exposed_comm_seconds = std::ranges::max(exposed);
  total.comm_seconds = std::ranges::max(comm);
  total.comm_bytes = std::ranges::max(bytes);
  total.peak_bytes =
      std::ranges::max_element(pipeline.stages, {},
                               &PlannedPipeline::Stage::peak_bytes)
          ->peak_bytes;
}

absl::StatusOr<Plan> WriteStages(const PlanTask& task, const Found& found,
                                 int32_t ranks, int32_t stages) {
  Plan plan = BeginPlan(task, found);
  const Module& module =
      found.split != nullptr ? found.split->module : task.module;
  MW_ASSIGN_OR_RETURN(
      const PipelineStep step,
      TakeApart(module, AnalyzeRoles(module), {.count = found.cut->count}));
  MW_ASSIGN_OR_RETURN(StepStages assigned,
                      EvenStages(module, step, stages, found.cut->recompute));
  MW_ASSIGN_OR_RETURN(
      const StagedStep staged,
      MakeStagePrograms(step.split, {.stages = stages,
                                     .forward = assigned.forward,
                                     .state = step.state}));
  const StageStrategies strategies(found.cut->model.graph,
                                   found.plan.assignment, plan.mesh);
  const Prices prices =
      PlanPrices(task.rates, task.cluster, task.request.forbidden, plan.mesh);
  MW_ASSIGN_OR_RETURN(const StagedLayout layout,
                      LayOutStages(staged, plan.mesh, strategies, prices));
  StagePrediction predicted =
      PredictStages(staged, layout, ranks, task.cluster, task.rates, prices);
  predicted.costs.memory_bytes = RoomOf(predicted, ranks, task.memory_bytes);
  MW_ASSIGN_OR_RETURN(
      const Scheduled scheduled,
      Schedule({.stages = stages,
                .ranks = ranks,
                .micro_batches = static_cast<int>(found.cut->count)},
               predicted.costs, task.request.schedule));
  plan.pipeline = PlannedPipeline{.forward = std::move(assigned.forward),
                                  .cut_gap = assigned.assignment.Gap()};
  Record(predicted, scheduled, plan);
  // At most so far from the best, in strategies and in the timetable.
  plan.gap = 1 - found.plan.bound_seconds / found.plan.seconds *
                     scheduled.best.lower_bound / plan.predicted.step_seconds;
  const std::vector<Sharding> parameters =
      AllAtRest(strategies, found.cut->model);
  AddTensors(found.cut->model, parameters,
             OutputsOf(staged, layout, parameters), plan);
  for (size_t i = 0; i < staged.programs.size(); ++i) {
    const StageProgram::Kind kind = staged.programs[i].kind;
    const bool once = kind == StageProgram::Kind::kApply ||
                      kind == StageProgram::Kind::kStart;
    AddCollectives(layout.programs[i].collectives,
                   once ? 1 : static_cast<double>(staged.micro_batches), plan);
  }
  return plan;
}

// Whether smaller stages that take turns are worth a look.
bool MayTakeTurns(const PlanTask& task, const Plan& plan) {
  return !task.request.stages.has_value() &&
         task.request.schedule.value_or(ScheduleKind::kAuto) ==
             ScheduleKind::kAuto &&
         plan.pipeline->bubble_share > kManyBubbles &&
         plan.strategies.size() <= kManyOps;
}

}  // namespace

absl::StatusOr<Plan> FinishStages(const PlanTask& task,
                                  const MeshSearch& search, double seconds_left,
                                  StageCandidate& candidate) {
  Found& found = candidate.found;
  const int32_t ranks = candidate.ranks;
  search.Improve(found, kSecondWork, kFirstGap, seconds_left);
  MW_ASSIGN_OR_RETURN(Plan plan,
                      WriteStages(task, found, ranks, candidate.stages));
  int64_t limit = task.memory_bytes;
  for (int round = 0; round < kMaxRounds; ++round) {
    if (plan.predicted.peak_bytes <= task.memory_bytes) break;
    limit =
        static_cast<int64_t>(static_cast<double>(limit) * kTighter *
                             static_cast<double>(task.memory_bytes) /
                             static_cast<double>(plan.predicted.peak_bytes));
    absl::StatusOr<Found> tighter = search.Sketch(found.cut,
                                                  {.mesh = found.task.mesh,
                                                   .memory_limit = limit,
                                                   .expert = found.expert,
                                                   .stages = ranks},
                                                  found.plan.placements);
    if (!tighter.ok()) break;
    tighter->plan.bound_seconds = found.plan.bound_seconds;
    tighter->split = found.split;
    found = *std::move(tighter);
    MW_ASSIGN_OR_RETURN(plan,
                        WriteStages(task, found, ranks, candidate.stages));
  }
  // Loops are cut for the number of stages.
  if (!MayTakeTurns(task, plan) ||
      (found.split != nullptr && found.split->IsCut())) {
    return plan;
  }
  absl::StatusOr<Plan> turns = WriteStages(task, found, ranks, 2 * ranks);
  return turns.ok() && turns->predicted.peak_bytes <= task.memory_bytes &&
                 turns->predicted.step_seconds < plan.predicted.step_seconds
             ? turns
             : plan;
}

}  // namespace meshwright
