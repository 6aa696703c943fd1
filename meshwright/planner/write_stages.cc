#include "meshwright/planner/write_stages.h"

#include <algorithm>
#include <utility>

#include "meshwright/base/status_macros.h"
#include "meshwright/cost/instruction_time.h"
#include "meshwright/cost/part_rates.h"
#include "meshwright/pipeline_search/pipeline_step.h"
#include "meshwright/pipeline_search/step_for_stages.h"
#include "meshwright/plan/step_names.h"
#include "meshwright/planner/mesh_search.h"
#include "meshwright/planner/plan_prices.h"
#include "meshwright/planner/plan_tensors.h"
#include "meshwright/planner/predict_stages.h"
#include "meshwright/planner/summary.h"
#include "meshwright/schedule/generate.h"
#include "meshwright/schedule/generate_auto.h"
#include "meshwright/schedule/lower_bound.h"
#include "meshwright/schedule/simulate.h"

namespace meshwright {
namespace {

struct Scheduled {
  AutoTimetable best;
  Simulation run;
};

Scheduled RunOf(AutoTimetable best, const PipelineCosts& costs) {
  const Timetable& table = best.timetable;
  Simulation run = SimulateValid(table, costs, /*record=*/false);
  best.step_seconds = run.step_seconds;
  best.lower_bound = StepLowerBound(table.rank_of_stage, table.ranks(),
                                    table.micro_batches, costs);
  return {std::move(best), std::move(run)};
}

// The fastest schedule that fits, or the requested one.
absl::StatusOr<Scheduled> Schedule(const PipelineShape& shape,
                                   const PipelineCosts& costs,
                                   const PlanTask& task) {
  const std::optional<ScheduleKind>& wanted = task.request.schedule;
  if (wanted.has_value() && *wanted != ScheduleKind::kAuto) {
    MW_ASSIGN_OR_RETURN(Timetable timetable, MakeTimetable(shape, *wanted));
    return RunOf({.timetable = std::move(timetable), .origin = *wanted}, costs);
  }
  absl::StatusOr<AutoTimetable> best = MakeAutoTimetable(
      shape, costs, {.work_limit = task.policy.stages.schedule_work});
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

// By rank: the memory left besides what its stages always hold.
std::vector<int64_t> RoomOf(const StagePrediction& predicted,
                            const std::vector<int64_t>& memory) {
  const size_t ranks = memory.size();
  std::vector<int64_t> room(ranks, 0);
  std::vector<int64_t> fixed(ranks, 0);
  for (size_t stage = 0; stage < predicted.fixed_bytes.size(); ++stage) {
    const size_t rank = stage % ranks;
    fixed[rank] += predicted.fixed_bytes[stage];
    room[rank] = std::max(room[rank], predicted.room_bytes[stage]);
  }
  for (size_t rank = 0; rank < ranks; ++rank) {
    room[rank] = std::max<int64_t>(0, memory[rank] - fixed[rank] - room[rank]);
  }
  return room;
}

// The candidate's layouts in the form that stages need.
class Layouts {
 public:
  Layouts(const PlanTask& task, const StageCandidate& candidate,
          const Plan& plan)
      : task_(task) {
    // Keeps element addresses stable.
    strategies_.reserve(candidate.layouts.size());
    for (size_t i = 0; i < candidate.layouts.size(); ++i) {
      const PlanCandidate& found = candidate.layouts[i];
      const Mesh& mesh = plan.layouts[i].mesh;
      strategies_.emplace_back(found.variant().model.graph,
                               found.plan().assignment, mesh);
      prices_.push_back(
          PlanPrices(task.rates, task.cluster, task.request.forbidden, mesh));
      meshes_.push_back(&mesh);
    }
    int64_t next = 0;
    for (const int32_t layout : candidate.layout_of_rank) {
      first_device_.push_back(next);
      next += meshes_[layout]->device_count();
    }
    for (StageId stage{0}; stage < candidate.stages; ++stage) {
      of_stage_.push_back(candidate.layout_of_rank[stage % candidate.ranks()]);
    }
  }

  // All by stage.
  std::vector<StageSplit> Splits() const {
    std::vector<StageSplit> splits;
    for (const int32_t layout : of_stage_) {
      splits.push_back(
          {meshes_[layout], &strategies_[layout], &prices_[layout]});
    }
    return splits;
  }
  // On the devices that it is on.
  std::vector<Rates> AllRates() const {
    std::vector<Rates> rates;
    for (size_t stage = 0; stage < of_stage_.size(); ++stage) {
      rates.push_back(RatesOfPart(task_.rates, task_.cluster, FirstOf(stage),
                                  DevicesOf(stage)));
    }
    return rates;
  }
  std::vector<Prices> PricesAt(const std::vector<Rates>& rates) const {
    std::vector<Prices> prices;
    for (size_t stage = 0; stage < of_stage_.size(); ++stage) {
      const int32_t layout = of_stage_[stage];
      prices.push_back(task_.cluster.IsUneven()
                           ? PlanPrices(rates[stage], task_.cluster,
                                        task_.request.forbidden,
                                        *meshes_[layout])
                           : prices_[layout]);
    }
    return prices;
  }
  // By stage: its devices, in units of the slowest kind.
  std::vector<double> Capacities() const {
    std::vector<double> capacities;
    for (size_t stage = 0; stage < of_stage_.size(); ++stage) {
      capacities.push_back(
          SpeedOfPart(task_.cluster, FirstOf(stage), DevicesOf(stage)) *
          static_cast<double>(DevicesOf(stage)) /
          static_cast<double>(meshes_[0]->device_count()));
    }
    return capacities;
  }
  // By rank: usable bytes of its devices, relative to PlanTask::memory_bytes.
  std::vector<double> MemoryTimes() const {
    std::vector<double> times;
    for (size_t rank = 0; rank < first_device_.size(); ++rank) {
      times.push_back(task_.MemoryTimes(FirstOf(rank), DevicesOf(rank)));
    }
    return times;
  }

  PlannedTensors Tensors(const StagedStep& step, const StagedLayout& layout,
                         const StepModel& model) const {
    return TensorsOf({*model.module, model.roles, model.graph}, step, layout,
                     strategies_, of_stage_);
  }

 private:
  int64_t FirstOf(size_t stage) const {
    return first_device_[stage % first_device_.size()];
  }
  int64_t DevicesOf(size_t stage) const {
    return meshes_[of_stage_[stage]]->device_count();
  }

  const PlanTask& task_;
  std::vector<int64_t> first_device_;        // By rank.
  std::vector<StageStrategies> strategies_;  // These by layout.
  std::vector<Prices> prices_;
  std::vector<const Mesh*> meshes_;
  std::vector<int32_t> of_stage_;
};

// `memory_times` is by rank.
void Record(const StagePrediction& predicted, const Scheduled& scheduled,
            const std::vector<double>& memory_times, Plan& plan) {
  PlannedPipeline& pipeline = *plan.pipeline;
  pipeline.schedule = scheduled.best.origin;
  pipeline.timetable = scheduled.best.timetable;
  pipeline.apply_after_all = predicted.costs.apply_after_all;
  pipeline.bubble_share = scheduled.run.bubble_share;
  const Timetable& timetable = pipeline.timetable;
  const auto ranks = static_cast<size_t>(timetable.ranks());
  std::vector<double> compute(ranks, 0);
  std::vector<double> exposed(ranks, 0);
  std::vector<double> apply(ranks, 0);
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
                                              predicted.room_bytes[stage],
                               .room_bytes = predicted.room_bytes[stage]});
    const int rank = timetable.rank_of_stage[stage];
    // Stages of a rank run sequentially.
    compute[rank] += predicted.compute_seconds[stage];
    exposed[rank] += predicted.exposed_seconds[stage];
    apply[rank] += cost.apply;
    comm[rank] += predicted.comm_seconds[stage];
    bytes[rank] += predicted.comm_bytes[stage];
  }
  for (const StageEdge& edge : predicted.costs.edges) {
    pipeline.edges.push_back({edge.from, edge.to, edge.forward_seconds,
                              edge.backward_seconds, edge.forward_bytes,
                              edge.backward_bytes});
  }
  const std::vector<int64_t> fixed =
      plan.FixedBytesOfRanks(timetable.rank_of_stage);
  for (size_t stage = 0; stage < pipeline.stages.size(); ++stage) {
    const int rank = timetable.rank_of_stage[stage];
    pipeline.stages[stage].peak_bytes =
        fixed[rank] + scheduled.run.peak_bytes[rank];
    pipeline.stages[stage].memory_times = memory_times[rank];
  }
  Prediction& total = plan.predicted;
  total.step_seconds = scheduled.run.step_seconds;
  // The terms are those of one rank, so that they add up.
  const auto busiest =
      static_cast<size_t>(std::ranges::max_element(scheduled.run.busy_seconds) -
                          scheduled.run.busy_seconds.begin());
  total.compute_seconds = compute[busiest];
  total.exposed_comm_seconds = exposed[busiest];
  total.apply_seconds = apply[busiest];
  total.bubble_seconds = std::max(0.0, total.step_seconds - compute[busiest] -
                                           exposed[busiest] - apply[busiest]);
  total.comm_seconds = std::ranges::max(comm);
  total.comm_bytes = std::ranges::max(bytes);
  total.peak_bytes =
      std::ranges::max_element(pipeline.stages, {},
                               &PlannedPipeline::Stage::peak_bytes)
          ->peak_bytes;
}

// Records the layouts of ranks; the first one is there.
void RecordLayouts(const PlanTask& task, const StageCandidate& candidate,
                   Plan& plan) {
  plan.pipeline->loop_pieces = candidate.loop_pieces;
  plan.pipeline->layout_of_rank = candidate.layout_of_rank;
  for (size_t i = 1; i < candidate.layouts.size(); ++i) {
    const PlanCandidate& other = candidate.layouts[i];
    plan.layouts.push_back(
        LayoutFor(other, NamedMesh(task.request, &other, other.variant().model,
                                   other.setting().mesh)));
  }
}

// The guaranteed part: how close strategies are to the best, as a factor.
double SurePart(const StageCandidate& candidate) {
  double part = 1;
  for (const PlanCandidate& layout : candidate.layouts) {
    const MeshPlan& plan = layout.plan();
    part = std::min(part, plan.bound_seconds / plan.seconds);
  }
  return part;
}

// By instruction of a micro-batch.
std::vector<double> SecondsOf(const PipelineStep& step, const PlanTask& task,
                              const StageCandidate& candidate) {
  std::vector<double> seconds =
      InstructionSeconds(step.micro_batch(), task.rates, task.cluster.IsCpu(),
                         candidate.first().setting().mesh.device_count());
  for (size_t i = 0; i < candidate.pace.size(); ++i) {
    seconds[i] *= candidate.pace[i];
  }
  return seconds;
}

}  // namespace

double QuickestSeconds(const std::vector<StageCandidate>& staged) {
  double least = std::numeric_limits<double>::infinity();
  for (const StageCandidate& one : staged) least = std::min(least, one.seconds);
  return least;
}

absl::StatusOr<WrittenStages> WriteStages(const PlanTask& task,
                                          const StageCandidate& candidate) {
  const PlanCandidate& found = candidate.first();
  Plan plan = BeginPlan(task, found);
  plan.predicted.search_seconds = candidate.seconds;
  plan.pipeline.emplace();
  RecordLayouts(task, candidate, plan);
  const Layouts layouts(task, candidate, plan);
  const Module& module =
      found.split() != nullptr ? found.split()->module : task.module;
  MW_ASSIGN_OR_RETURN(const PipelineStep step,
                      TakeApart(module, AnalyzeRoles(module),
                                {.count = found.variant().count,
                                 .row_blocks = plan.row_blocks}));
  const std::vector<double> seconds = SecondsOf(step, task, candidate);
  const std::vector<double> capacity = layouts.Capacities();
  MW_ASSIGN_OR_RETURN(
      StepStages assigned,
      EvenStages(module, step,
                 {.capacity = capacity, .memory = candidate.most_held},
                 found.variant().recompute, seconds,
                 {.policy = task.policy.stages.assign,
                  .thorough = false,
                  .most_balance = candidate.most_balance,
                  .deadline = candidate.deadline}));
  MW_ASSIGN_OR_RETURN(
      const StagedStep staged,
      MakeStagePrograms(step.split, {.stages = candidate.stages,
                                     .forward = assigned.forward,
                                     .state = step.state}));
  const std::vector<StageSplit> splits = layouts.Splits();
  MW_ASSIGN_OR_RETURN(const StagedLayout layout, LayOutStages(staged, splits));
  const int32_t ranks = candidate.ranks();
  const std::vector<Rates> rates = layouts.AllRates();
  StagePrediction predicted = PredictStages(staged, layout, ranks, task.cluster,
                                            rates, layouts.PricesAt(rates));
  const std::vector<double> memory_times = layouts.MemoryTimes();
  std::vector<int64_t> memory;
  for (const double times : memory_times) memory.push_back(task.Bytes(times));
  predicted.costs.memory_bytes = RoomOf(predicted, memory);
  MW_ASSIGN_OR_RETURN(
      const Scheduled scheduled,
      Schedule({.stages = candidate.stages,
                .ranks = ranks,
                .micro_batches = static_cast<int>(found.variant().count)},
               predicted.costs, task));
  plan.pipeline->forward = ForwardByStage(*step.micro_batch().entry(),
                                          assigned.forward, candidate.stages);
  plan.pipeline->cut_gap = assigned.assignment.Gap();
  Record(predicted, scheduled, memory_times, plan);
  // Of strategies and of the timetable.
  plan.gap =
      std::max(0.0, 1 - SurePart(candidate) * scheduled.best.lower_bound /
                            plan.predicted.step_seconds);
  plan.tensors = layouts.Tensors(staged, layout, found.variant().model);
  plan.collectives = CollectivesOf(staged, layout, splits);
  std::vector<double> counted(candidate.stages, 0);
  for (size_t i = 0; i < seconds.size(); ++i) {
    const StageId stage = assigned.forward[i];
    if (stage >= 0) counted[stage] += seconds[i] / capacity[stage];
  }
  return WrittenStages{std::move(plan), std::move(assigned.forward),
                       std::move(counted), std::move(assigned.held)};
}

}  // namespace meshwright
