#include "meshwright/planner/stage_plan.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "meshwright/base/status_macros.h"
#include "meshwright/pipeline_search/step_for_stages.h"
#include "meshwright/planner/write_plan.h"

namespace meshwright {
namespace {

// Whether smaller stages, several per rank, are worth trying. Loops are split
// for the number of stages.
bool MayTakeTurns(const PlanTask& task, const Plan& plan,
                  const StageCandidate& candidate) {
  const auto& split = candidate.first().split;
  return !task.request.stages.has_value() &&
         task.request.schedule.value_or(ScheduleKind::kAuto) ==
             ScheduleKind::kAuto &&
         plan.pipeline->bubble_share > task.policy.stages.few_bubbles &&
         candidate.layouts.size() == 1 &&
         (split == nullptr || !split->has_cut_loops);
}

// Searches the same layout again, for `variant` and with this memory limit.
absl::StatusOr<PlanCandidate> Again(
    const MeshSearch& search, const PlanCandidate& found,
    const std::shared_ptr<const StepVariant>& variant, int64_t limit,
    const std::vector<AxisPlaces>& warm_start = {}) {
  MW_ASSIGN_OR_RETURN(PlanCandidate again,
                      search.Sketch(variant, found.setting, limit, warm_start));
  again.split = found.split;
  return again;
}

// All layouts, or none.
bool Tighten(const MeshSearch& search, int64_t limit,
             StageCandidate& candidate) {
  std::vector<PlanCandidate> all;
  for (const PlanCandidate& found : candidate.layouts) {
    absl::StatusOr<PlanCandidate> tighter =
        Again(search, found, found.variant, limit, found.plan.placements);
    if (!tighter.ok()) return false;
    tighter->plan.bound_seconds = found.plan.bound_seconds;
    all.push_back(*std::move(tighter));
  }
  candidate.layouts = std::move(all);
  return true;
}

// Refines on the step that stages are cut from; it was searched with its loops
// whole.
absl::Status CutLoops(const PlanTask& task, const MeshSearch& search,
                      StageCandidate& candidate) {
  const std::shared_ptr<const StepVariant> whole = candidate.first().variant;
  MW_ASSIGN_OR_RETURN(
      std::optional<SplitStep> step,
      StepForStages(task.module, whole->recompute, candidate.loop_pieces));
  if (!step.has_value()) return absl::OkStatus();
  const auto split = std::make_shared<const SplitStep>(*std::move(step));
  std::shared_ptr<const StepVariant> variant = whole;
  if (split->has_cut_loops) {
    MW_ASSIGN_OR_RETURN(
        variant, StepVariant::Recomputing(split->module, whole->count,
                                          whole->recompute, task.context));
  }
  const auto make_over = [&](PlanCandidate& found) -> absl::Status {
    if (variant != whole) {
      MW_ASSIGN_OR_RETURN(found,
                          Again(search, found, variant, task.memory_bytes));
    }
    found.split = split;
    return absl::OkStatus();
  };
  std::erase_if(candidate.rivals,
                [&](PlanCandidate& rival) { return !make_over(rival).ok(); });
  for (PlanCandidate& layout : candidate.layouts) {
    MW_RETURN_IF_ERROR(make_over(layout));
  }
  return absl::OkStatus();
}

// Seconds of a stage's programs per micro-batch.
double SecondsOf(const PlannedPipeline::Stage& stage) {
  return stage.forward + stage.input_grad + stage.weight_grad;
}

// Seconds of a rank's programs per step.
double RankSeconds(const Plan& plan, int32_t rank) {
  double seconds = 0;
  for (int32_t stage = rank; stage < plan.stages(); stage += plan.ranks()) {
    const PlannedPipeline::Stage& one = plan.pipeline->stages[stage];
    seconds +=
        one.apply + static_cast<double>(plan.micro_batches) * SecondsOf(one);
  }
  return seconds;
}

bool IsBetter(const PlanTask& task, const Plan& other, const Plan& plan) {
  return other.predicted.peak_bytes <= task.memory_bytes &&
         other.predicted.step_seconds < plan.predicted.step_seconds;
}

// Stages with one kind of work may be better off with another mesh than those
// with another kind.
void TryRivals(const PlanTask& task, const MeshSearch& search,
               double seconds_left, StageCandidate& candidate, Plan& plan) {
  const auto take_if_better =
      [&](StageCandidate other) -> absl::StatusOr<Plan> {
    MW_ASSIGN_OR_RETURN(WrittenStages written, WriteStages(task, other));
    if (IsBetter(task, written.plan, plan)) {
      plan = written.plan;
      candidate = std::move(other);
    }
    return std::move(written.plan);
  };
  for (PlanCandidate& rival : std::exchange(candidate.rivals, {})) {
    if (candidate.layouts.size() > 1) break;
    search.Improve(rival, task.policy.solve.second_work,
                   task.policy.solve.first_gap, seconds_left);
    const Plan before = plan;
    StageCandidate mixed = candidate;
    StageCandidate alone = candidate;
    alone.layouts = {rival};
    const absl::StatusOr<Plan> other = take_if_better(std::move(alone));
    if (!other.ok()) continue;
    mixed.layouts.push_back(std::move(rival));
    for (int32_t rank = 0; rank < mixed.ranks(); ++rank) {
      mixed.layout_of_rank[rank] =
          RankSeconds(*other, rank) < RankSeconds(before, rank) ? 1 : 0;
    }
    const auto taken = std::ranges::count(mixed.layout_of_rank, 1);
    if (taken == 0 || taken == mixed.ranks()) continue;
    take_if_better(std::move(mixed)).IgnoreError();
  }
}

// Load imbalance: the time of the busiest rank relative to the mean.
double Fullest(const Plan& plan) {
  double sum = 0;
  double most = 0;
  for (int32_t rank = 0; rank < plan.ranks(); ++rank) {
    sum += RankSeconds(plan, rank);
    most = std::max(most, RankSeconds(plan, rank));
  }
  return most / sum * plan.ranks();
}

// Moves work away from stages that take longer than counted, as long as that
// helps.
void Rebalance(const PlanTask& task, StageCandidate& candidate,
               WrittenStages& written) {
  const double full = task.EffortFor(*candidate.first().variant).full;
  for (int move = 0; move < task.policy.stages.most_moves; ++move) {
    if (Fullest(written.plan) <= full) break;
    const PlannedPipeline& pipeline = *written.plan.pipeline;
    StageCandidate moved = candidate;
    moved.pace.resize(written.forward.size(), 1);
    for (size_t i = 0; i < written.forward.size(); ++i) {
      const int32_t stage = written.forward[i];
      if (stage < 0 || written.counted[stage] <= 0) continue;
      moved.pace[i] *=
          SecondsOf(pipeline.stages[stage]) / written.counted[stage];
    }
    absl::StatusOr<WrittenStages> other = WriteStages(task, moved);
    if (!other.ok() || !IsBetter(task, other->plan, written.plan)) break;
    written = *std::move(other);
    candidate = std::move(moved);
  }
}

}  // namespace

absl::StatusOr<Plan> FinishStages(const PlanTask& task,
                                  const MeshSearch& search, double seconds_left,
                                  StageCandidate& candidate) {
  MW_RETURN_IF_ERROR(CutLoops(task, search, candidate));
  for (PlanCandidate& layout : candidate.layouts) {
    search.Improve(layout, task.policy.solve.second_work,
                   task.policy.solve.first_gap, seconds_left);
  }
  MW_ASSIGN_OR_RETURN(WrittenStages written, WriteStages(task, candidate));
  Plan& plan = written.plan;
  int64_t limit = task.memory_bytes;
  for (int round = 0; round < task.policy.solve.max_rounds; ++round) {
    if (plan.predicted.peak_bytes <= task.memory_bytes) break;
    limit = static_cast<int64_t>(
        static_cast<double>(limit) * task.policy.solve.tighter *
        static_cast<double>(task.memory_bytes) /
        static_cast<double>(plan.predicted.peak_bytes));
    if (!Tighten(search, limit, candidate)) break;
    MW_ASSIGN_OR_RETURN(written, WriteStages(task, candidate));
  }
  Rebalance(task, candidate, written);
  if (!task.EffortFor(*candidate.first().variant).vary_stages) {
    return std::move(plan);
  }
  if (candidate.layouts.size() == 1) {
    TryRivals(task, search, seconds_left, candidate, plan);
  }
  if (MayTakeTurns(task, plan, candidate)) {
    StageCandidate turns = candidate;
    turns.stages = 2 * candidate.ranks();
    absl::StatusOr<WrittenStages> other = WriteStages(task, turns);
    if (other.ok() && IsBetter(task, other->plan, plan)) {
      plan = std::move(other->plan);
    }
  }
  return std::move(plan);
}

}  // namespace meshwright
