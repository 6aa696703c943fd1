#include "meshwright/schedule/generate.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"

namespace meshwright {
namespace {

// What a rank does in order: some forwards, then forwards and backwards
// alternately, then the remaining backwards. Weight gradients come
// `weight_delay` backwards after their input gradients, or right after them.
struct RowPlan {
  std::vector<Action> forwards;
  std::vector<Action> backwards;  // Of kind kBackward, or kInputGrad if split.
  int64_t warm_up = 0;            // Forwards before the first pair.
  int weight_delay = 0;
};

std::vector<Action> MakeRow(const RowPlan& plan) {
  std::vector<Action> row;
  const int64_t count = std::ssize(plan.forwards);
  const int64_t warm_up = std::min(plan.warm_up, count);
  std::vector<Action> weights;  // Not yet run: those from `next_weight` on.
  size_t next_weight = 0;
  for (int64_t i = 0; i < count + warm_up; ++i) {
    if (i < count) row.push_back(plan.forwards[i]);
    if (i < warm_up) continue;
    const Action& backward = plan.backwards[i - warm_up];
    row.push_back(backward);
    if (backward.kind == ActionKind::kBackward) continue;
    weights.push_back(backward);
    weights.back().kind = ActionKind::kWeightGrad;
    if (std::ssize(weights) - static_cast<int64_t>(next_weight) >
        plan.weight_delay) {
      row.push_back(weights[next_weight++]);
    }
  }
  row.insert(row.end(), weights.begin() + static_cast<int64_t>(next_weight),
             weights.end());
  return row;
}

// Every (stage, micro-batch) of a rank: micro-batches in rounds, where each
// round passes one stage after the other.
std::vector<Action> InRounds(std::vector<StageId> stages, ActionKind kind,
                             int micro_batches, int round) {
  std::vector<Action> actions;
  for (int first = 0; first < micro_batches; first += round) {
    const int last = std::min(first + round, micro_batches);
    for (const StageId stage : stages) {
      for (int micro_batch = first; micro_batch < last; ++micro_batch) {
        actions.push_back(
            {.stage = stage, .kind = kind, .micro_batch = micro_batch});
      }
    }
  }
  return actions;
}

std::vector<StageId> Reversed(std::vector<StageId> stages) {
  std::ranges::reverse(stages);
  return stages;
}

// All forwards, then all backwards, stage by stage: gpipe and breadth-first.
std::vector<Action> ForwardsFirst(const std::vector<StageId>& stages,
                                  int micro_batches) {
  RowPlan plan;
  plan.forwards =
      InRounds(stages, ActionKind::kForward, micro_batches, micro_batches);
  plan.backwards = InRounds(Reversed(stages), ActionKind::kBackward,
                            micro_batches, micro_batches);
  plan.warm_up = std::ssize(plan.forwards);
  return MakeRow(plan);
}

// 1f1b, interleaved and zero-bubble. The stages are a multiple of the ranks
// and, with several stages per rank, so are the micro-batches.
std::vector<Action> OneForwardOneBackward(const std::vector<StageId>& stages,
                                          int rank, int ranks,
                                          int micro_batches, bool split) {
  const int chunks = static_cast<int>(stages.size());
  const int after = ranks - 1 - rank;  // Ranks after this one.
  RowPlan plan;
  plan.forwards = InRounds(stages, ActionKind::kForward, micro_batches, ranks);
  plan.backwards = InRounds(
      Reversed(stages), split ? ActionKind::kInputGrad : ActionKind::kBackward,
      micro_batches, ranks);
  // Before the first gradients arrive, a round must have passed all but the
  // last stage of this rank. Each later rank is two steps away (there and
  // back), or one if there is nothing else to do meanwhile.
  plan.warm_up = chunks == 1 ? after : (chunks - 1) * ranks + 2 * after;
  plan.weight_delay = split ? rank : 0;
  return MakeRow(plan);
}

// Zero-bubble on a V: rank d holds stages d (on the way down) and 2p-1-d (on
// the way back). At least 2p-1 micro-batches; after arXiv 2405.15362.
class VRow {
 public:
  VRow(int rank, int ranks, int micro_batches)
      : rank_(rank),
        ranks_(ranks),
        micro_batches_(micro_batches),
        stages_{StageId(rank), StageId(2 * ranks - 1 - rank)} {}

  std::vector<Action> Make() {
    for (int i = 0; i < 2 * (ranks_ - rank_) - 1; ++i) Forward(0);
    for (int i = 0; i < rank_; ++i) {
      Forward(1);
      Forward(0);
    }
    for (int i = 0; i < ranks_ - rank_; ++i) {
      Forward(1);
      InputGrad(1);
      WeightGrad(1);
    }
    while (forwards_[1] < forwards_[0] || forwards_[0] < micro_batches_) {
      if (forwards_[0] < micro_batches_) Forward(0);
      InputGrad(0);
      WeightGrad(0);
      Forward(1);
      InputGrad(1);
      WeightGrad(1);
    }
    for (int i = 0; i < rank_; ++i) {
      InputGrad(0);
      InputGrad(1);
    }
    for (int i = 0; i < ranks_ - rank_; ++i) {
      InputGrad(0);
      WeightGrad(0);
    }
    for (const int chunk : {1, 0}) {
      while (weight_grads_[chunk] < input_grads_[chunk]) WeightGrad(chunk);
    }
    return row_;
  }

 private:
  void Forward(int chunk) { Add(chunk, ActionKind::kForward, forwards_); }
  void InputGrad(int chunk) {
    Add(chunk, ActionKind::kInputGrad, input_grads_);
  }
  void WeightGrad(int chunk) {
    Add(chunk, ActionKind::kWeightGrad, weight_grads_);
  }
  void Add(int chunk, ActionKind kind, int (&counts)[2]) {
    row_.push_back({.stage = stages_[chunk],
                    .kind = kind,
                    .micro_batch = counts[chunk]++});
  }

  int rank_;
  int ranks_;
  int micro_batches_;
  StageId stages_[2];
  int forwards_[2] = {0, 0};
  int input_grads_[2] = {0, 0};
  int weight_grads_[2] = {0, 0};
  std::vector<Action> row_;
};

int RoundUp(int value, int multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

absl::Status CheckPlacement(const PipelineShape& shape, ScheduleKind kind) {
  if (kind == ScheduleKind::k1F1B && shape.stages != shape.ranks) {
    return absl::InvalidArgumentError(
        absl::StrCat("1f1b has one stage per device, not ", shape.stages,
                     " on ", shape.ranks, "; interleaved has several"));
  }
  if (kind == ScheduleKind::kZeroBubbleV && shape.stages != 2 * shape.ranks) {
    return absl::InvalidArgumentError(
        absl::StrCat("zero-bubble-v has two stages per device, not ",
                     shape.stages, " on ", shape.ranks));
  }
  // Schedules with all forwards first work with any assignment of stages.
  if (shape.rank_of_stage.empty() || kind == ScheduleKind::kGPipe ||
      kind == ScheduleKind::kBreadthFirst) {
    return absl::OkStatus();
  }
  const std::vector<int> want =
      DefaultPlacement(kind, shape.stages, shape.ranks);
  for (StageId stage{0}; stage < shape.stages; ++stage) {
    if (shape.rank_of_stage[stage] != want[stage]) {
      return absl::InvalidArgumentError(absl::StrCat(
          ToString(kind), " needs stage ", int{stage}, " on device ",
          want[stage], ", but it is on ", shape.rank_of_stage[stage]));
    }
  }
  return absl::OkStatus();
}

std::vector<Action> NamedRow(const PipelineShape& shape, ScheduleKind kind,
                             int rank, const std::vector<StageId>& stages) {
  switch (kind) {
    case ScheduleKind::kGPipe:
    case ScheduleKind::kBreadthFirst:
      return ForwardsFirst(stages, shape.micro_batches);
    case ScheduleKind::kZeroBubbleV:
      return VRow(rank, shape.ranks,
                  std::max(shape.micro_batches, 2 * shape.ranks - 1))
          .Make();
    default:
      break;
  }
  // The rows are generated for full rounds of stages and micro-batches.
  std::vector<StageId> padded;
  for (int stage = rank; stage < RoundUp(shape.stages, shape.ranks);
       stage += shape.ranks) {
    padded.push_back(StageId(stage));
  }
  const int micro_batches = padded.size() == 1
                                ? shape.micro_batches
                                : RoundUp(shape.micro_batches, shape.ranks);
  return OneForwardOneBackward(padded, rank, shape.ranks, micro_batches,
                               kind == ScheduleKind::kZeroBubble);
}

}  // namespace

absl::StatusOr<Timetable> MakeTimetable(const PipelineShape& shape,
                                        ScheduleKind kind) {
  MW_RETURN_IF_ERROR(CheckShape(shape));
  if (kind == ScheduleKind::kAuto) {
    return absl::InvalidArgumentError("schedule auto needs durations");
  }
  MW_RETURN_IF_ERROR(CheckPlacement(shape, kind));
  Timetable timetable;
  timetable.micro_batches = shape.micro_batches;
  timetable.rank_of_stage =
      shape.rank_of_stage.empty()
          ? DefaultPlacement(kind, shape.stages, shape.ranks)
          : shape.rank_of_stage;
  const auto stages = StagesByRank(timetable.rank_of_stage, shape.ranks);
  for (int rank = 0; rank < shape.ranks; ++rank) {
    std::vector<Action> row = NamedRow(shape, kind, rank, stages[rank]);
    // Padding is removed: the order of the rest is as good without it.
    std::erase_if(row, [&](const Action& action) {
      return action.stage >= shape.stages ||
             action.micro_batch >= shape.micro_batches;
    });
    timetable.rows.push_back(std::move(row));
  }
  return timetable;
}

std::vector<ScheduleKind> PossibleSchedules(const PipelineShape& shape) {
  std::vector<ScheduleKind> possible;
  for (const ScheduleKind kind : kNamedSchedules) {
    if (CheckShape(shape).ok() && CheckPlacement(shape, kind).ok()) {
      possible.push_back(kind);
    }
  }
  return possible;
}

}  // namespace meshwright
