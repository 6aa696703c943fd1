#include "meshwright/planner/stage_plan.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "meshwright/base/status_macros.h"
#include "meshwright/pipeline_search/step_for_stages.h"
#include "meshwright/planner/search_policy.h"
#include "meshwright/planner/write_plan.h"

namespace meshwright {
namespace {

// Whether smaller stages that take turns are worth a look. Loops are cut for
// the number of stages.
bool MayTakeTurns(const PlanTask& task, const Plan& plan,
                  const StageCandidate& candidate) {
  const auto& split = candidate.found.split;
  return !task.request.stages.has_value() &&
         task.request.schedule.value_or(ScheduleKind::kAuto) ==
             ScheduleKind::kAuto &&
         plan.pipeline->bubble_share > kSearchPolicy.stages.few_bubbles &&
         candidate.others.empty() &&
         (split == nullptr || !split->has_cut_loops);
}

// The same layout anew, of `cut` and with so much memory as the search counts.
absl::StatusOr<Found> Again(const MeshSearch& search, const Found& found,
                            const std::shared_ptr<const CutStep>& cut,
                            int64_t limit,
                            const std::vector<AxisPlaces>& like = {}) {
  MW_ASSIGN_OR_RETURN(Found again, search.Sketch(cut,
                                                 {.mesh = found.task.mesh,
                                                  .memory_limit = limit,
                                                  .expert = found.expert,
                                                  .stages = found.task.stages},
                                                 like));
  again.split = found.split;
  return again;
}

// All layouts, or none.
bool Tighten(const MeshSearch& search, int64_t limit,
             StageCandidate& candidate) {
  std::vector<Found> all;
  for (int32_t i = 0; i < candidate.layout_count(); ++i) {
    const Found& found = candidate.layout(i);
    absl::StatusOr<Found> tighter =
        Again(search, found, found.cut, limit, found.plan.placements);
    if (!tighter.ok()) return false;
    tighter->plan.bound_seconds = found.plan.bound_seconds;
    all.push_back(*std::move(tighter));
  }
  for (int32_t i = 0; i < candidate.layout_count(); ++i) {
    candidate.layout(i) = std::move(all[i]);
  }
  return true;
}

// Of the step that stages are made of, which was searched with its loops whole.
absl::Status CutLoops(const PlanTask& task, const MeshSearch& search,
                      StageCandidate& candidate) {
  const std::shared_ptr<const CutStep> whole = candidate.found.cut;
  MW_ASSIGN_OR_RETURN(
      std::optional<SplitStep> step,
      StepForStages(task.module, whole->recompute, candidate.loop_pieces));
  if (!step.has_value()) return absl::OkStatus();
  const auto split = std::make_shared<const SplitStep>(*std::move(step));
  std::shared_ptr<const CutStep> cut = whole;
  if (split->has_cut_loops) {
    MW_ASSIGN_OR_RETURN(
        cut, CutStep::Recomputing(split->module, whole->count, whole->recompute,
                                  task.context));
  }
  const auto make_over = [&](Found& found) -> absl::Status {
    if (cut != whole) {
      MW_ASSIGN_OR_RETURN(found, Again(search, found, cut, task.memory_bytes));
    }
    found.split = split;
    return absl::OkStatus();
  };
  std::erase_if(candidate.rivals,
                [&](Found& rival) { return !make_over(rival).ok(); });
  for (int32_t i = 0; i < candidate.layout_count(); ++i) {
    MW_RETURN_IF_ERROR(make_over(candidate.layout(i)));
  }
  return absl::OkStatus();
}

// What a stage's programs take for a micro-batch.
double SecondsOf(const PlannedPipeline::Stage& stage) {
  return stage.forward + stage.input_grad + stage.weight_grad;
}

// What the programs of a rank take in a step.
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

// Stages of one kind of work may be better off with another mesh than those of
// another kind.
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
  for (Found& rival : std::exchange(candidate.rivals, {})) {
    if (!candidate.others.empty()) break;
    search.Improve(rival, kSearchPolicy.solve.second_work,
                   kSearchPolicy.solve.first_gap, seconds_left);
    const Plan before = plan;
    StageCandidate mixed = candidate;
    StageCandidate alone = candidate;
    alone.found = rival;
    const absl::StatusOr<Plan> other = take_if_better(std::move(alone));
    if (!other.ok()) continue;
    mixed.others = {std::move(rival)};
    for (int32_t rank = 0; rank < mixed.ranks(); ++rank) {
      mixed.layout_of_rank[rank] =
          RankSeconds(*other, rank) < RankSeconds(before, rank) ? 1 : 0;
    }
    const auto taken = std::ranges::count(mixed.layout_of_rank, 1);
    if (taken == 0 || taken == mixed.ranks()) continue;
    take_if_better(std::move(mixed)).IgnoreError();
  }
}

// The rank that takes longest, relative to the mean.
double Fullest(const Plan& plan) {
  double sum = 0;
  double most = 0;
  for (int32_t rank = 0; rank < plan.ranks(); ++rank) {
    sum += RankSeconds(plan, rank);
    most = std::max(most, RankSeconds(plan, rank));
  }
  return most / sum * plan.ranks();
}

// Moves work away from stages that take longer than was counted, as long as it
// helps.
void Rebalance(const PlanTask& task, StageCandidate& candidate,
               WrittenStages& written) {
  const bool is_large = task.IsLarge(*candidate.found.cut);
  for (int move = 0; move < kSearchPolicy.stages.most_moves; ++move) {
    if (Fullest(written.plan) <= (is_large ? kSearchPolicy.stages.full_of_large
                                           : kSearchPolicy.stages.full))
      break;
    const PlannedPipeline& pipeline = *written.plan.pipeline;
    StageCandidate moved = candidate;
    moved.pace.resize(pipeline.forward.size(), 1);
    for (size_t i = 0; i < pipeline.forward.size(); ++i) {
      const int32_t stage = pipeline.forward[i];
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
  for (int32_t i = 0; i < candidate.layout_count(); ++i) {
    search.Improve(candidate.layout(i), kSearchPolicy.solve.second_work,
                   kSearchPolicy.solve.first_gap, seconds_left);
  }
  MW_ASSIGN_OR_RETURN(WrittenStages written, WriteStages(task, candidate));
  Plan& plan = written.plan;
  int64_t limit = task.memory_bytes;
  for (int round = 0; round < kSearchPolicy.solve.max_rounds; ++round) {
    if (plan.predicted.peak_bytes <= task.memory_bytes) break;
    limit = static_cast<int64_t>(
        static_cast<double>(limit) * kSearchPolicy.solve.tighter *
        static_cast<double>(task.memory_bytes) /
        static_cast<double>(plan.predicted.peak_bytes));
    if (!Tighten(search, limit, candidate)) break;
    MW_ASSIGN_OR_RETURN(written, WriteStages(task, candidate));
  }
  Rebalance(task, candidate, written);
  if (task.IsLarge(*candidate.found.cut)) return std::move(plan);
  if (candidate.others.empty()) {
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
