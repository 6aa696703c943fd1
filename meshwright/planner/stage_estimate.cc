#include "meshwright/planner/stage_estimate.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "meshwright/base/status_macros.h"
#include "meshwright/cost/instruction_time.h"
#include "meshwright/hlo/trip_count.h"
#include "meshwright/pipeline_search/step_for_stages.h"
#include "meshwright/planner/predict_stages.h"
#include "meshwright/schedule/generate.h"
#include "meshwright/schedule/generate_auto.h"
#include "meshwright/schedule/simulate.h"

namespace meshwright {
namespace {

// Relative times of the programs of a stage for a micro-batch.
struct Programs {
  double forward = 0;
  double input_grad = 0;
  double weight_grad = 0;
};

// Each contraction has two gradients, and rematerialisation happens before the
// input gradients. A loop computes input and weight gradients together, if the
// stage has more than one layer of it (a single layer needs no loop).
Programs ProgramsOf(Recompute recompute, bool in_one_go,
                    double repeated_by_selective) {
  const double again = recompute == Recompute::kNone ? 0
                       : recompute == Recompute::kSelective
                           ? repeated_by_selective
                           : 1;
  const double all = 3 + again;
  if (in_one_go) return {.forward = 1 / all, .input_grad = (2 + again) / all};
  return {.forward = 1 / all,
          .input_grad = (1 + again) / all,
          .weight_grad = 1 / all};
}

const PlanCandidate& OfRank(StageEstimator::Ranks ranks, int32_t rank) {
  return *ranks[rank < ranks[0]->setting().stages.doubled ? 1 : 0];
}

int64_t DevicesOf(StageEstimator::Ranks ranks, int32_t rank) {
  return OfRank(ranks, rank).setting().mesh.device_count();
}

}  // namespace

absl::Status StageEstimator::TakeApartOnce(int64_t count) {
  if (step_.has_value()) return absl::OkStatus();
  const Module& module = whole_.step.module();
  MW_ASSIGN_OR_RETURN(
      step_, TakeApart(module, AnalyzeRoles(module), {.count = count}));
  for (const auto& instruction : step_->micro_batch().entry()->instructions()) {
    if (step_->forward[instruction->id] &&
        instruction->opcode == Opcode::kWhile) {
      layers_ = std::max(layers_, TripCount(*instruction).value_or(1));
    }
  }
  // Pins are on unsplit loops.
  if (task_.request.annotations) layers_ = 1;
  arguments_ = CountArguments(*step_);
  return absl::OkStatus();
}

// Loops are split at the ends of stages of equal work. What passes between them
// is not known yet.
absl::StatusOr<StageEstimator::Shares> StageEstimator::EvenShares(
    Ranks ranks) const {
  const StageSetting& stages = ranks[0]->setting().stages;
  Shares shares{.edges = ChainEdges(stages.count)};
  for (int32_t stage = 0; stage < stages.count; ++stage) {
    shares.work.push_back(
        static_cast<double>(DevicesOf(ranks, stage % stages.ranks)));
  }
  const double sum =
      std::accumulate(shares.work.begin(), shares.work.end(), 0.0);
  for (double& part : shares.work) part /= sum;
  return shares;
}

absl::StatusOr<StageEstimator::Shares> StageEstimator::SharesOf(Ranks ranks) {
  const StageSetting& stages = ranks[0]->setting().stages;
  const int64_t count = ranks[0]->setting().micro_batches;
  MW_RETURN_IF_ERROR(TakeApartOnce(count));
  if (layers_ > 1) return EvenShares(ranks);
  std::vector<int64_t> key;
  std::vector<double> capacity;
  for (int32_t stage = 0; stage < stages.count; ++stage) {
    key.push_back(DevicesOf(ranks, stage % stages.ranks));
    capacity.push_back(static_cast<double>(key.back()) /
                       static_cast<double>(DevicesOf(ranks, 0)));
  }
  const auto [known, is_new] = known_.try_emplace(key);
  if (!is_new) return known->second;
  // Smaller micro-batches have the same effect as more devices.
  const double devices = static_cast<double>(DevicesOf(ranks, 0) * count) /
                         static_cast<double>(step_->split.count);
  absl::StatusOr<StepStages> variant = EvenStages(
      whole_.step.module(), *step_, {.capacity = capacity}, whole_.recompute,
      InstructionSeconds(step_->micro_batch(), task_.rates,
                         task_.cluster.IsCpu(),
                         std::max<int64_t>(1, static_cast<int64_t>(devices))),
      {.policy = task_.policy.stages.assign, .thorough = false});
  if (!variant.ok()) {
    known_.erase(known);
    return variant.status();
  }
  Shares shares{.work = std::move(variant->work)};
  const double sum =
      std::accumulate(shares.work.begin(), shares.work.end(), 0.0);
  for (double& part : shares.work) part /= sum;
  for (const StageCrossing& crossing : variant->crossings) {
    shares.edges.push_back({.from = crossing.from,
                            .to = crossing.to,
                            .forward_bytes = crossing.bytes / 2,
                            .backward_bytes = crossing.bytes / 2});
  }
  return known->second = std::move(shares);
}

// `part`: its share of the work.
StageCost StageEstimator::CostOf(const StepTime& time, const Setting& setting,
                                 double part) const {
  const auto count = static_cast<double>(setting.micro_batches);
  const Programs programs =
      ProgramsOf(whole_.recompute, layers_ >= 2 * setting.stages.count,
                 task_.policy.stages.repeated_by_selective);
  const Rates& rates = task_.rates;
  // Every stage has its own layers of what a loop reads.
  const double arrays = layers_ > 1 ? 1 : part;
  // Accelerators' hosts prepare a program while another runs.
  const double each =
      task_.cluster.IsCpu() ? arrays * rates.argument_seconds.value : 0;
  const auto seconds = [&](double share, double arguments) {
    if (share == 0) return 0.0;
    return std::max(share * part * time.loop_seconds / count,
                    rates.graph_seconds.value) +
           each * arguments;
  };
  return {.forward = seconds(programs.forward, arguments_.forward),
          .input_grad = seconds(programs.input_grad, arguments_.input_grad),
          .weight_grad = seconds(programs.weight_grad, arguments_.weight_grad),
          .apply = part * (time.seconds - time.loop_seconds)};
}

PipelineCosts StageEstimator::CostsOf(Ranks ranks, Shares shares) const {
  const Setting& setting = ranks[0]->setting();
  const StageSetting& stages = setting.stages;
  const auto count = static_cast<double>(setting.micro_batches);
  PipelineCosts costs{.edges = std::move(shares.edges)};
  for (int32_t stage = 0; stage < stages.count; ++stage) {
    const StepTime& time = OfRank(ranks, stage % stages.ranks).plan().time;
    costs.stages.push_back(CostOf(time, setting, shares.work[stage]));
  }
  std::vector<int64_t> first_device = {0};
  for (int32_t rank = 0; rank < stages.ranks; ++rank) {
    first_device.push_back(first_device.back() + DevicesOf(ranks, rank));
  }
  for (StageEdge& edge : costs.edges) {
    const auto end = [&](int stage) {
      const int32_t rank = stage % stages.ranks;
      return StageDevices{first_device[rank], DevicesOf(ranks, rank)};
    };
    const auto seconds = [&](const StageDevices& from, const StageDevices& to,
                             int64_t bytes) {
      return TransferSeconds(from, to, bytes / to.count, task_.cluster,
                             {&task_.rates, &task_.rates});
    };
    // Scales bytes to micro-batches of this size.
    const double scale = static_cast<double>(step_->split.count) / count;
    edge.forward_bytes =
        static_cast<int64_t>(scale * static_cast<double>(edge.forward_bytes));
    edge.backward_bytes = edge.forward_bytes;
    edge.forward_seconds =
        seconds(end(edge.from), end(edge.to), edge.forward_bytes);
    edge.backward_seconds =
        seconds(end(edge.to), end(edge.from), edge.backward_bytes);
  }
  return costs;
}

absl::StatusOr<double> StageEstimator::SecondsOf(Ranks ranks) {
  MW_ASSIGN_OR_RETURN(Shares shares, SharesOf(ranks));
  const PipelineCosts costs = CostsOf(ranks, std::move(shares));
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
