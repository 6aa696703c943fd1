#include "meshwright/planner/stage_estimate.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "meshwright/base/status_macros.h"
#include "meshwright/cost/instruction_time.h"
#include "meshwright/pipeline/stage_strategies.h"
#include "meshwright/pipeline_search/split_for_stages.h"
#include "meshwright/pipeline_search/step_for_stages.h"
#include "meshwright/planner/predict_stages.h"
#include "meshwright/schedule/generate.h"
#include "meshwright/schedule/generate_auto.h"
#include "meshwright/schedule/simulate.h"
#include "meshwright/search/options.h"

namespace meshwright {
namespace {

const PlanCandidate* OfRank(StageEstimator::Ranks ranks, int32_t rank) {
  return ranks[rank < ranks[0]->setting().stages.doubled ? 1 : 0];
}

int64_t DevicesOf(StageEstimator::Ranks ranks, int32_t rank) {
  return OfRank(ranks, rank)->setting().mesh.device_count();
}

// In which form the search has the values that stages send.
class SentForms {
 public:
  explicit SentForms(const PlanCandidate& found)
      : mesh_(found.setting().mesh),
        strategies_(found.variant().model.graph, found.plan().assignment,
                    mesh_) {}

  // What cut loops pass on has no name there: it is taken to be split evenly.
  int64_t LocalBytesOf(const SentValue& value) const {
    const std::optional<Sharding> form =
        strategies_.Result(value.name, value.shape);
    if (!form.has_value()) return ByteSize(value.shape) / mesh_.device_count();
    return static_cast<int64_t>(
        std::ceil(LocalBytes(value.shape, Completed(*form), mesh_)));
  }

 private:
  const Mesh& mesh_;
  const StageStrategies strategies_;
};

// Per second of a program's kernels.
struct Pace {
  double device = 0;    // With collectives, as far as kernels wait for them.
  double launches = 0;  // Of the host: of collectives.
};

// `time`: of `count` executions of the whole.
Pace PaceOf(const StepTime::Part& time, double count,
            const ProgramWork& whole) {
  if (whole.seconds == 0) return {};
  return {.device = time.device_seconds / count / whole.seconds,
          .launches = std::max(0.0, time.launch_seconds / count -
                                        whole.host_seconds.each) /
                      whole.seconds};
}

// The host prepares a program while the device runs another.
double ProgramSeconds(const ProgramWork& program, const Pace& pace) {
  return std::max(
             pace.device * program.seconds,
             program.host_seconds.sum() + pace.launches * program.seconds) +
         program.array_seconds;
}

// `time` and `whole`: of the whole step with `count` micro-batches.
StageCost CostOf(const StepTime& time, double count, const WholeWork& whole,
                 const StageWork& stage) {
  const Pace pace = PaceOf(time.loops, count, whole.micro_batch);
  const Pace pace_of_rest = PaceOf(time.rest, 1, whole.once);
  StageCost cost{.forward = ProgramSeconds(stage.forward, pace),
                 .input_grad = ProgramSeconds(stage.input_grad, pace),
                 .weight_grad = ProgramSeconds(stage.weight_grad, pace)};
  for (const ProgramWork& program : stage.once) {
    cost.apply += ProgramSeconds(program, pace_of_rest);
  }
  return cost;
}

}  // namespace

absl::StatusOr<const Module*> StageEstimator::SplitInto(int32_t pieces) {
  const Module& whole = whole_.step.recomputing();
  auto known = split_.find(pieces);
  if (known == split_.end()) {
    std::optional<SplitStep> split;
    if (pieces > 1) {
      MW_ASSIGN_OR_RETURN(
          split, SplitLoopsForStages(whole, AnalyzeRoles(whole), pieces));
    }
    known = split_.emplace(pieces, std::move(split)).first;
  }
  return known->second.has_value() ? &known->second->module : &whole;
}

absl::StatusOr<const PipelineStep*> StageEstimator::WholeStep(int64_t count) {
  auto known = steps_.find(count);
  if (known == steps_.end()) {
    const Module& module = whole_.step.recomputing();
    MW_ASSIGN_OR_RETURN(
        PipelineStep step,
        TakeApart(module, AnalyzeRoles(module),
                  {.count = count, .row_blocks = task_.context.row_blocks}));
    known = steps_.emplace(count, std::move(step)).first;
  }
  return &known->second;
}

absl::StatusOr<const StepWork*> StageEstimator::WorkOf(Ranks ranks,
                                                       int32_t pieces) {
  const StageSetting& stages = ranks[0]->setting().stages;
  const int64_t count = ranks[0]->setting().micro_batches;
  std::vector<int64_t> devices;
  std::vector<double> capacity;
  for (StageId stage{0}; stage < stages.count; ++stage) {
    devices.push_back(DevicesOf(ranks, stage % stages.ranks));
    capacity.push_back(static_cast<double>(devices.back()) /
                       static_cast<double>(DevicesOf(ranks, 0)));
  }
  const std::tuple key(pieces, count, devices);
  if (const auto known = known_.find(key); known != known_.end()) {
    return &known->second;
  }
  MW_ASSIGN_OR_RETURN(const Module* module, SplitInto(pieces));
  std::optional<PipelineStep> cut;
  const PipelineStep* step = nullptr;
  if (module == &whole_.step.recomputing()) {
    MW_ASSIGN_OR_RETURN(step, WholeStep(count));
  } else {
    MW_ASSIGN_OR_RETURN(
        cut,
        TakeApart(*module, AnalyzeRoles(*module),
                  {.count = count, .row_blocks = task_.context.row_blocks}));
    step = &*cut;
  }
  const KernelTimes times{task_.rates, task_.cluster.IsCpu(),
                          DevicesOf(ranks, 0)};
  AssignOptions assign{.policy = task_.policy.stages.assign, .thorough = false};
  if (std::isfinite(most_seconds_)) {  // There is another plan.
    assign.deadline = begin_ + absl::Seconds(task_.request.time_limit_seconds);
    assign.most_balance = task_.policy.stages.overestimated * most_seconds_ *
                          stages.count / ranks[0]->seconds();
  }
  MW_ASSIGN_OR_RETURN(
      const StepStages assigned,
      EvenStages(*module, *step, {.capacity = capacity}, whole_.recompute,
                 InstructionSeconds(step->micro_batch(), times.rates,
                                    times.is_cpu, times.devices),
                 assign));
  MW_ASSIGN_OR_RETURN(StepWork work, WorkOfStages(*step, assigned.forward,
                                                  stages.count, times));
  return &known_.emplace(key, std::move(work)).first->second;
}

absl::StatusOr<const WholeWork*> StageEstimator::WholeWorkOf(Ranks ranks) {
  const std::pair key(ranks[0]->setting().micro_batches, DevicesOf(ranks, 0));
  auto known = whole_work_.find(key);
  if (known == whole_work_.end()) {
    MW_ASSIGN_OR_RETURN(const PipelineStep* step, WholeStep(key.first));
    const KernelTimes times{task_.rates, task_.cluster.IsCpu(), key.second};
    known = whole_work_.emplace(key, WorkOfStep(*step, times)).first;
  }
  return &known->second;
}

absl::StatusOr<PipelineCosts> StageEstimator::CostsOf(Ranks ranks,
                                                      const StepWork& work) {
  const Setting& setting = ranks[0]->setting();
  MW_ASSIGN_OR_RETURN(const WholeWork* whole, WholeWorkOf(ranks));
  PipelineCosts costs;
  for (StageId stage{0}; stage < setting.stages.count; ++stage) {
    const PlanCandidate& found = *OfRank(ranks, stage % setting.stages.ranks);
    costs.stages.push_back(CostOf(found.plan().time,
                                  static_cast<double>(setting.micro_batches),
                                  *whole, work.stages[stage]));
  }
  costs.apply_after_all = work.apply_after_all;
  AddEdges(ranks, work, costs);
  return costs;
}

void StageEstimator::AddEdges(Ranks ranks, const StepWork& work,
                              PipelineCosts& costs) const {
  const StageSetting& stages = ranks[0]->setting().stages;
  std::vector<SentForms> forms;
  for (const PlanCandidate* rank : ranks) forms.emplace_back(*rank);
  costs.edges = work.edges;
  std::map<std::pair<int, int>, StageEdge*> known;
  for (StageEdge& edge : costs.edges) known[{edge.from, edge.to}] = &edge;
  for (const SentValue& one : work.sent) {
    const size_t form =
        OfRank(ranks, one.to % stages.ranks) == ranks[0] ? 0 : 1;
    StageEdge& edge = *known.at(std::minmax<int>(one.from, one.to));
    (one.from < one.to ? edge.forward_bytes : edge.backward_bytes) +=
        forms[form].LocalBytesOf(one);
  }
  std::vector<int64_t> first_device = {0};
  for (int32_t rank = 0; rank < stages.ranks; ++rank) {
    first_device.push_back(first_device.back() + DevicesOf(ranks, rank));
  }
  const auto seconds = [&](StageId from, StageId to, int64_t bytes) {
    const auto devices = [&](StageId stage) {
      const int32_t rank = stage % stages.ranks;
      return StageDevices{first_device[rank], DevicesOf(ranks, rank)};
    };
    return bytes == 0
               ? 0
               : TransferSeconds(devices(from), devices(to), bytes,
                                 task_.cluster, {&task_.rates, &task_.rates});
  };
  for (StageEdge& edge : costs.edges) {
    edge.forward_seconds = seconds(edge.from, edge.to, edge.forward_bytes);
    edge.backward_seconds = seconds(edge.to, edge.from, edge.backward_bytes);
  }
}

// Bubbles are at least what weight gradients cannot fill.
double StageEstimator::SecondsIfEven(Ranks ranks) const {
  const StepTime& time = ranks[0]->plan().time;
  const StageSetting& stages = ranks[0]->setting().stages;
  const double bubbles = task_.policy.stages.least_wait * (stages.ranks - 1) /
                         static_cast<double>(ranks[0]->setting().micro_batches);
  return (time.seconds + bubbles * time.loop_seconds) / stages.parts();
}

absl::StatusOr<double> StageEstimator::SecondsOf(Ranks ranks, int32_t pieces) {
  const StageSearchPolicy& policy = task_.policy.stages;
  const double even = SecondsIfEven(ranks);
  const auto size_of = [](const Module& module) {
    return int64_t{module.entry()->size()};
  };
  if (even > most_seconds_ &&
      size_of(whole_.step.recomputing()) * pieces > policy.many_instructions) {
    return even;
  }
  MW_ASSIGN_OR_RETURN(const Module* module, SplitInto(pieces));
  if (size_of(*module) * ranks[0]->setting().stages.count > policy.most_split) {
    return even;
  }
  MW_ASSIGN_OR_RETURN(const StepWork* work, WorkOf(ranks, pieces));
  MW_ASSIGN_OR_RETURN(const PipelineCosts costs, CostsOf(ranks, *work));
  const Setting& setting = ranks[0]->setting();
  const PipelineShape shape{
      .stages = setting.stages.count,
      .ranks = setting.stages.ranks,
      .micro_batches = static_cast<int>(setting.micro_batches)};
  const ScheduleKind kind = setting.schedule.value_or(ScheduleKind::kAuto);
  if (kind != ScheduleKind::kAuto) {
    MW_ASSIGN_OR_RETURN(const Timetable table, MakeTimetable(shape, kind));
    return SimulateValid(table, costs, /*record=*/false).step_seconds;
  }
  MW_ASSIGN_OR_RETURN(
      const AutoTimetable best,
      MakeAutoTimetable(shape, costs,
                        {.work_limit = task_.policy.stages.estimate_work}));
  return best.step_seconds;
}

}  // namespace meshwright
