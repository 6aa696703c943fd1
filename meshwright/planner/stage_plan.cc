#include "meshwright/planner/stage_plan.h"

#include <algorithm>
#include <cmath>
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
  const auto& split = candidate.first().split();
  return !task.request.stages.has_value() &&
         task.request.schedule.value_or(ScheduleKind::kAuto) ==
             ScheduleKind::kAuto &&
         plan.pipeline->bubble_share > task.policy.stages.few_bubbles &&
         candidate.layouts.size() == 1 &&
         (split == nullptr || !split->has_split_loops);
}

// Searches the same layout again, for `variant` and with this memory limit.
absl::StatusOr<PlanCandidate> Again(
    const MeshSearch& search, const PlanCandidate& found,
    const std::shared_ptr<const StepVariant>& variant, int64_t limit,
    const std::vector<AxisPlaces>& warm_start = {}) {
  MW_ASSIGN_OR_RETURN(
      const PlanCandidate again,
      search.Sketch(variant, found.setting(), limit, warm_start));
  return again.With(found.split());
}

// All layouts, or none.
absl::StatusOr<StageCandidate> Tighter(const MeshSearch& search, int64_t limit,
                                       const StageCandidate& candidate) {
  std::vector<PlanCandidate> all;
  for (const PlanCandidate& found : candidate.layouts) {
    MW_ASSIGN_OR_RETURN(const PlanCandidate tighter,
                        Again(search, found, found.shared_variant(), limit,
                              found.plan().axis_places));
    all.push_back(tighter.WithBound(found.plan().bound_seconds));
  }
  return candidate.With(std::move(all));
}

StageCandidate Improved(const PlanTask& task, const MeshSearch& search,
                        double seconds_left, const StageCandidate& candidate) {
  std::vector<PlanCandidate> all;
  for (const PlanCandidate& layout : candidate.layouts) {
    all.push_back(search.Improved(layout, task.policy.solve.second_work,
                                  task.policy.solve.first_gap, seconds_left));
  }
  return candidate.With(std::move(all));
}

// Refines on the step that stages are cut from; it was searched with its loops
// whole.
absl::StatusOr<StageCandidate> WithLoopsCut(const PlanTask& task,
                                            const MeshSearch& search,
                                            StageCandidate candidate) {
  const std::shared_ptr<const StepVariant> whole =
      candidate.first().shared_variant();
  MW_ASSIGN_OR_RETURN(
      std::optional<SplitStep> step,
      StepForStages(task.module, whole->recompute, candidate.loop_pieces));
  if (!step.has_value()) return candidate;
  const auto split = std::make_shared<const SplitStep>(*std::move(step));
  std::shared_ptr<const StepVariant> variant = whole;
  if (split->has_split_loops) {
    MW_ASSIGN_OR_RETURN(
        variant, StepVariant::Recomputing(split->module, whole->count,
                                          whole->recompute, task.context));
  }
  const auto made_over =
      [&](PlanCandidate found) -> absl::StatusOr<PlanCandidate> {
    if (variant != whole) {
      MW_ASSIGN_OR_RETURN(found,
                          Again(search, found, variant, found.memory_limit()));
    }
    return found.With(split);
  };
  for (PlanCandidate& rival : std::exchange(candidate.rivals, {})) {
    absl::StatusOr<PlanCandidate> made = made_over(std::move(rival));
    if (made.ok()) candidate.rivals.push_back(*std::move(made));
  }
  std::vector<PlanCandidate> all;
  for (const PlanCandidate& layout : candidate.layouts) {
    MW_ASSIGN_OR_RETURN(PlanCandidate made, made_over(layout));
    all.push_back(std::move(made));
  }
  return candidate.With(std::move(all));
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
  return other.NeededBytes() <= task.memory_bytes &&
         other.predicted.step_seconds < plan.predicted.step_seconds;
}

// By stage: what its nodes may hold for its programs to fit, if they take
// memory in proportion to that or, with two plans, by the line through both.
std::vector<int64_t> MostHeld(const WrittenStages& last,
                              const WrittenStages* before, double memory) {
  std::vector<int64_t> most;
  for (size_t i = 0; i < last.held.size(); ++i) {
    const auto held = static_cast<double>(last.held[i]);
    const auto needed =
        static_cast<double>(last.plan.pipeline->stages[i].NeededBytes());
    double per_byte = held / needed;
    if (before != nullptr && before->held[i] != last.held[i]) {
      const double line =
          (held - static_cast<double>(before->held[i])) /
          (needed -
           static_cast<double>(before->plan.pipeline->stages[i].NeededBytes()));
      if (line > 0 && std::isfinite(line)) per_byte = line;
    }
    most.push_back(static_cast<int64_t>(held + (memory - needed) * per_byte));
  }
  return most;
}

// Where devices have different memory: moves work from stages that do not fit
// into theirs to others, until these are well filled.
void MoveToMemory(const PlanTask& task, StageCandidate& candidate,
                  WrittenStages& written) {
  const std::vector<int64_t> memory = written.plan.MemoryOfRanks();
  if (std::ranges::min(memory) == std::ranges::max(memory)) return;
  const auto usable = static_cast<double>(task.memory_bytes);
  const auto fullness = [&](const Plan& plan, size_t stage) {
    return static_cast<double>(plan.pipeline->stages[stage].NeededBytes()) /
           usable;
  };
  std::vector<size_t> overfull;
  for (size_t i = 0; i < written.held.size(); ++i) {
    if (fullness(written.plan, i) > 1) overfull.push_back(i);
  }
  WrittenStages last = written;
  std::optional<WrittenStages> before;
  for (int move = 0; move < task.policy.stages.most_memory_moves; ++move) {
    const auto is_well_filled = [&](size_t stage) {
      const double full = fullness(last.plan, stage);
      return full <= 1 && full >= task.policy.stages.well_filled;
    };
    if (std::ranges::all_of(overfull, is_well_filled)) return;
    StageCandidate moved = candidate;
    moved.most_held = MostHeld(last, before.has_value() ? &*before : nullptr,
                               task.policy.solve.tighter * usable);
    absl::StatusOr<WrittenStages> other = WriteStages(task, moved);
    if (!other.ok() || other->forward == last.forward) return;
    before = std::exchange(last, *std::move(other));
    const bool is_leaner =
        last.plan.NeededBytes() < written.plan.NeededBytes() &&
        written.plan.NeededBytes() > task.memory_bytes;
    if (!is_leaner && !IsBetter(task, last.plan, written.plan)) continue;
    written = last;
    candidate = std::move(moved);
  }
}

// A candidate and its plan.
struct StageChoice {
  StageCandidate candidate;
  Plan plan;
};

// Stages with one kind of work may be better off with another mesh than those
// with another kind.
StageChoice TryRivals(const PlanTask& task, const MeshSearch& search,
                      double seconds_left, StageChoice best) {
  const auto take_if_better =
      [&](StageCandidate other) -> absl::StatusOr<Plan> {
    MW_ASSIGN_OR_RETURN(WrittenStages written, WriteStages(task, other));
    if (IsBetter(task, written.plan, best.plan)) {
      best = {std::move(other), written.plan};
    }
    return std::move(written.plan);
  };
  for (const PlanCandidate& coarse : std::exchange(best.candidate.rivals, {})) {
    if (best.candidate.layouts.size() > 1) break;
    const PlanCandidate rival =
        search.Improved(coarse, task.policy.solve.second_work,
                        task.policy.solve.first_gap, seconds_left);
    const Plan before = best.plan;
    StageCandidate mixed = best.candidate;
    const absl::StatusOr<Plan> other =
        take_if_better(best.candidate.With({rival}));
    if (!other.ok()) continue;
    mixed.layouts.push_back(rival);
    for (int32_t rank = 0; rank < mixed.ranks(); ++rank) {
      mixed.layout_of_rank[rank] =
          RankSeconds(*other, rank) < RankSeconds(before, rank) ? 1 : 0;
    }
    const auto taken = std::ranges::count(mixed.layout_of_rank, 1);
    if (taken == 0 || taken == mixed.ranks()) continue;
    take_if_better(std::move(mixed)).IgnoreError();
  }
  return best;
}

// Load imbalance: the time of the busiest rank relative to the mean.
double LoadImbalance(const Plan& plan) {
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
  const double most =
      task.EffortFor(candidate.first().variant()).load_imbalance;
  for (int move = 0; move < task.policy.stages.most_moves; ++move) {
    if (LoadImbalance(written.plan) <= most) break;
    const PlannedPipeline& pipeline = *written.plan.pipeline;
    StageCandidate moved = candidate;
    moved.pace.resize(written.forward.size(), 1);
    for (size_t i = 0; i < written.forward.size(); ++i) {
      const StageId stage = written.forward[i];
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
                                  StageCandidate candidate) {
  MW_ASSIGN_OR_RETURN(candidate,
                      WithLoopsCut(task, search, std::move(candidate)));
  candidate = Improved(task, search, seconds_left, candidate);
  MW_ASSIGN_OR_RETURN(WrittenStages written, WriteStages(task, candidate));
  MoveToMemory(task, candidate, written);
  int64_t limit = candidate.first().memory_limit();
  for (int round = 0; round < task.policy.solve.max_rounds; ++round) {
    const int64_t peak = written.plan.NeededBytes();
    if (peak <= task.memory_bytes) break;
    limit = static_cast<int64_t>(
        static_cast<double>(limit) * task.policy.solve.tighter *
        static_cast<double>(task.memory_bytes) / static_cast<double>(peak));
    absl::StatusOr<StageCandidate> tighter = Tighter(search, limit, candidate);
    if (!tighter.ok()) break;
    candidate = *std::move(tighter);
    MW_ASSIGN_OR_RETURN(written, WriteStages(task, candidate));
    MoveToMemory(task, candidate, written);
  }
  Rebalance(task, candidate, written);
  StageChoice best{std::move(candidate), std::move(written.plan)};
  if (!task.EffortFor(best.candidate.first().variant()).vary_stages) {
    return std::move(best.plan);
  }
  if (best.candidate.layouts.size() == 1) {
    best = TryRivals(task, search, seconds_left, std::move(best));
  }
  if (MayTakeTurns(task, best.plan, best.candidate)) {
    StageCandidate turns = best.candidate;
    turns.stages = 2 * turns.ranks();
    turns.most_held.clear();
    absl::StatusOr<WrittenStages> other = WriteStages(task, turns);
    if (other.ok() && IsBetter(task, other->plan, best.plan)) {
      return std::move(other->plan);
    }
  }
  return std::move(best.plan);
}

}  // namespace meshwright
