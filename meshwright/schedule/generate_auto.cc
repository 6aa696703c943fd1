#include "meshwright/schedule/generate_auto.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>

#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/base/units.h"
#include "meshwright/schedule/generate.h"
#include "meshwright/schedule/list_schedule.h"
#include "meshwright/schedule/lower_bound.h"
#include "meshwright/schedule/simulate.h"

namespace meshwright {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kSame = 1e-9;  // Relative; times this close count as equal.

bool Splits(ScheduleKind kind) {
  return kind == ScheduleKind::kZeroBubble ||
         kind == ScheduleKind::kZeroBubbleV;
}

class AutoSearch {
 public:
  AutoSearch(const PipelineShape& shape, const PipelineCosts& costs,
             const AutoOptions& options)
      : shape_(shape), costs_(costs), options_(options) {}

  // Tries one assignment of stages to ranks after the other, with an equal part
  // of the work for each.
  absl::StatusOr<AutoTimetable> Run() {
    std::vector<std::vector<int>> placements;
    if (!shape_.rank_of_stage.empty()) {
      placements.push_back(shape_.rank_of_stage);
    } else {
      placements.push_back(LoopedPlacement(shape_.stages, shape_.ranks));
      const auto v = VPlacement(shape_.stages, shape_.ranks);
      if (v != placements[0]) placements.push_back(v);
    }
    const int64_t share =
        options_.work_limit / static_cast<int64_t>(placements.size());
    for (const std::vector<int>& placement : placements) {
      shape_.rank_of_stage = placement;
      least_ = std::min(least_, StepLowerBound(placement, shape_.ranks,
                                               shape_.micro_batches, costs_));
      TryNamed();
      work_left_ = share;
      TryRules();
    }
    if (front_.empty()) return NothingFits();
    const Found& best = Best();
    return AutoTimetable{.timetable = best.timetable,
                         .step_seconds = best.step_seconds,
                         .lower_bound = least_,
                         .origin = best.origin};
  }

 private:
  struct Found {
    Timetable timetable;
    double step_seconds;
    int64_t peak;
    ScheduleKind origin;
  };

  // Keeps the timetable if it fits and no other is both faster and smaller.
  // Returns its time, infinite if it does not fit.
  double Try(Timetable timetable, ScheduleKind origin) {
    const Simulation run = SimulateValid(timetable, costs_, false);
    work_left_ -= Actions();
    for (int rank = 0; rank < shape_.ranks; ++rank) {
      if (!costs_.memory_bytes.empty() &&
          run.peak_bytes[rank] > costs_.memory_bytes[rank]) {
        return kNever;
      }
    }
    const double seconds = run.step_seconds;
    const int64_t peak = std::ranges::max(run.peak_bytes);
    if (origin != ScheduleKind::kAuto) named_ = std::min(named_, seconds);
    const bool beaten = std::ranges::any_of(front_, [&](const Found& found) {
      return found.step_seconds <= seconds * (1 + kSame) && found.peak <= peak;
    });
    if (beaten) return seconds;
    std::erase_if(front_, [&](const Found& found) {
      return seconds <= found.step_seconds && peak <= found.peak;
    });
    front_.push_back({std::move(timetable), seconds, peak, origin});
    return seconds;
  }

  const Found& Best() const {
    const double fastest =
        std::ranges::min(front_, {}, &Found::step_seconds).step_seconds;
    const double most = std::min(fastest * (1 + options_.slack), named_);
    const Found* best = nullptr;
    for (const Found& found : front_) {
      if (found.step_seconds > most * (1 + kSame)) continue;
      if (best == nullptr || found.peak < best->peak) best = &found;
    }
    return *best;
  }

  void TryNamed() {
    for (const ScheduleKind kind : PossibleSchedules(shape_)) {
      if (Splits(kind) && !options_.split_backward) continue;
      auto timetable = MakeTimetable(shape_, kind);
      if (timetable.ok()) Try(*std::move(timetable), kind);
    }
  }

  // The time with this rule, infinite if it does not fit.
  double TryRule(const ListRule& rule) {
    work_left_ -= Actions();
    std::optional<Timetable> timetable = ListSchedule(
        shape_.rank_of_stage, shape_.ranks, shape_.micro_batches, costs_, rule);
    if (!timetable.has_value()) return kNever;
    if (rule.split_last > 0) {
      Timetable merged = MergeBackwards(*timetable);
      if (merged != *timetable) Try(std::move(merged), ScheduleKind::kAuto);
    }
    return Try(*std::move(timetable), ScheduleKind::kAuto);
  }

  // Changes one part of the rule at a time and keeps improvements, from several
  // starting points, until nothing improves or the work is used up.
  void TryRules() {
    using Turn = ListRule::Turn;
    using Order = ListRule::Order;
    std::vector<ListRule> starts = {
        {},
        {.turn = Turn::kForwards, .forwards = Order::kBreadth},
        {.turn = Turn::kAlternate, .forwards = Order::kRounds},
        {.split_last = 0, .slanted = true}};
    for (const ListRule& start : starts) {
      if (start.split_last > 0 && !options_.split_backward) continue;
      Descend(start);
    }
  }

  void Descend(ListRule rule) {
    if (work_left_ <= 0) return;
    double seconds = TryRule(rule);
    bool helped = true;
    while (helped) {
      helped = false;
      for (const auto& change : Changes()) {
        if (work_left_ <= 0) return;
        ListRule other = rule;
        change(other);
        if (other == rule ||
            (other.split_last > 0 && !options_.split_backward)) {
          continue;
        }
        const double other_seconds = TryRule(other);
        if (other_seconds >= seconds * (1 - kSame)) continue;
        rule = other;
        seconds = other_seconds;
        helped = true;
      }
    }
  }

  std::vector<std::function<void(ListRule&)>> Changes() const {
    std::vector<std::function<void(ListRule&)>> changes;
    for (const double depth : {1.0, 0.5, 0.75, 1.25, 1.5, 2.0, 0.0}) {
      changes.push_back([=](ListRule& rule) { rule.depth = depth; });
    }
    for (const double patience : {0.0, 0.25, 0.5, 1.0}) {
      changes.push_back([=](ListRule& rule) { rule.patience = patience; });
    }
    for (const auto turn :
         {ListRule::Turn::kGradients, ListRule::Turn::kForwards,
          ListRule::Turn::kAlternate}) {
      changes.push_back([=](ListRule& rule) { rule.turn = turn; });
    }
    for (const auto order :
         {ListRule::Order::kMicroBatch, ListRule::Order::kBreadth,
          ListRule::Order::kDepth, ListRule::Order::kRounds}) {
      changes.push_back([=](ListRule& rule) { rule.forwards = order; });
      changes.push_back([=](ListRule& rule) { rule.gradients = order; });
    }
    changes.push_back([](ListRule& rule) { rule.slanted = !rule.slanted; });
    for (const int rounds : {0, 1, 2, 4}) {
      const int split = (rounds * shape_.ranks + 1) / 2;
      changes.push_back([=](ListRule& rule) { rule.split_last = split; });
    }
    changes.push_back(
        [](ListRule& rule) { rule.split_last = ListRule().split_last; });
    return changes;
  }

  int64_t Actions() const {
    return int64_t{3} * shape_.stages * shape_.micro_batches;
  }
  absl::Status NothingFits() const {
    const auto stages = StagesByRank(shape_.rank_of_stage, shape_.ranks);
    for (int rank = 0; rank < shape_.ranks; ++rank) {
      int64_t needed = 0;
      for (const StageId stage : stages[rank]) {
        needed += std::max(costs_.stages[stage].held_bytes,
                           costs_.stages[stage].KeptBytes());
      }
      if (needed > costs_.memory_bytes[rank]) {
        return absl::ResourceExhaustedError(
            absl::StrCat("device ", rank, " holds ", FormatBytes(needed),
                         " for one micro-batch in its stages, its memory is ",
                         FormatBytes(costs_.memory_bytes[rank])));
      }
    }
    return absl::ResourceExhaustedError(
        "no timetable found that holds no more than it may: values that wait "
        "to be sent or used fill the memory");
  }

  PipelineShape shape_;
  const PipelineCosts& costs_;
  const AutoOptions& options_;
  // Lower bound over all assignments of stages to ranks.
  double least_ = kNever;
  int64_t work_left_ = 0;
  double named_ = kNever;  // The fastest of the named schedules that fit.
  std::vector<Found> front_;
};

}  // namespace

absl::StatusOr<AutoTimetable> MakeAutoTimetable(const PipelineShape& shape,
                                                const PipelineCosts& costs,
                                                const AutoOptions& options) {
  MW_RETURN_IF_ERROR(CheckShape(shape));
  MW_RETURN_IF_ERROR(CheckCosts(costs, shape.stages, shape.ranks));
  return AutoSearch(shape, costs, options).Run();
}

absl::StatusOr<Timetable> MakeTimetable(const PipelineShape& shape,
                                        ScheduleKind kind,
                                        const PipelineCosts& costs) {
  if (kind != ScheduleKind::kAuto) return MakeTimetable(shape, kind);
  MW_ASSIGN_OR_RETURN(AutoTimetable made, MakeAutoTimetable(shape, costs));
  return std::move(made.timetable);
}

}  // namespace meshwright
