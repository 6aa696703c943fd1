#include "meshwright/schedule/list_schedule.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <queue>
#include <tuple>

#include "meshwright/schedule/clock.h"

namespace meshwright {
namespace {

using Queue = std::priority_queue<int, std::vector<int>, std::greater<>>;

// Micro-batches of a stage by what they are ready for, lowest first.
struct ReadyQueues {
  Queue forwards;
  Queue gradients;
  Queue weights;
};

class RuleDispatcher : public Dispatcher {
 public:
  RuleDispatcher(const std::vector<int>& rank_of_stage, int ranks,
                 int micro_batches, const PipelineCosts& costs,
                 const ListRule& rule)
      : costs_(costs),
        rule_(rule),
        first_split_(micro_batches - std::min(rule.split_last, micro_batches)),
        ranks_(ranks),
        stages_(StagesByRank(rank_of_stage, ranks)),
        ready_(rank_of_stage.size()),
        held_(static_cast<size_t>(ranks)),
        last_was_forward_(static_cast<size_t>(ranks)),
        rows_(static_cast<size_t>(ranks)) {
    for (int rank = 0; rank < ranks; ++rank) limits_.push_back(Limit(rank));
  }

  void OnReady(const Action& action) override {
    ReadyQueues& queues = ready_[action.stage];
    switch (action.kind) {
      case ActionKind::kForward:
        return queues.forwards.push(action.micro_batch);
      case ActionKind::kInputGrad:
        return queues.gradients.push(action.micro_batch);
      default:
        return queues.weights.push(action.micro_batch);
    }
  }

  std::optional<Action> Next(int rank, PipelineClock& clock) override {
    const std::optional<Action> action = Choose(rank, clock);
    if (!action.has_value()) return action;
    ReadyQueues& queues = ready_[action->stage];
    if (action->kind == ActionKind::kForward) {
      queues.forwards.pop();
      last_was_forward_[rank] = true;
      ++held_[rank];
    } else if (TakesGradients(action->kind)) {
      queues.gradients.pop();
      last_was_forward_[rank] = false;
      if (action->kind == ActionKind::kBackward) --held_[rank];
    } else {
      queues.weights.pop();
      --held_[rank];
    }
    rows_[rank].push_back(*action);
    return action;
  }

  std::vector<std::vector<Action>> TakeRows() { return std::move(rows_); }

 private:
  using Key = std::tuple<int, int, int>;

  int64_t Limit(int rank) const {
    if (rule_.depth == 0) return std::numeric_limits<int64_t>::max();
    const int64_t stages = std::ssize(stages_[rank]);
    const double most = rule_.depth * ranks_;
    const double here = rule_.slanted ? most * (ranks_ - rank) / ranks_ : most;
    return std::max<int64_t>(stages,
                             std::llround(here * static_cast<double>(stages)));
  }

  std::optional<Action> Choose(int rank, const PipelineClock& clock) const {
    const std::optional<Action> gradient = BestGradient(rank);
    const std::optional<Action> forward = BestForward(rank, clock);
    const bool forward_first =
        rule_.turn == ListRule::Turn::kForwards ||
        (rule_.turn == ListRule::Turn::kAlternate && !last_was_forward_[rank]);
    const auto& first = forward_first ? forward : gradient;
    const auto& second = forward_first ? gradient : forward;
    if (first.has_value()) return first;
    if (second.has_value()) return second;
    const std::optional<Action> weight = BestWeight(rank);
    if (!weight.has_value() || rule_.patience == 0) return weight;
    const std::optional<double> arrival = clock.NextArrival(rank);
    const double patience =
        rule_.patience * costs_.stages[weight->stage].weight_grad;
    if (arrival.has_value() && *arrival > clock.now() &&
        *arrival < clock.now() + patience) {
      return std::nullopt;
    }
    return weight;
  }

  std::optional<Action> BestForward(int rank,
                                    const PipelineClock& clock) const {
    std::optional<Action> best;
    Key best_key;
    int64_t reserved_bytes = 0;
    int64_t reserved = 0;
    // From the last stage on: earlier stages leave room for all later ones.
    for (int i = static_cast<int>(stages_[rank].size()) - 1; i >= 0; --i) {
      const StageId stage = stages_[rank][i];
      const StageCost& cost = costs_.stages[stage];
      const int64_t bytes = std::max(cost.held_bytes, cost.KeptBytes());
      reserved_bytes += bytes;
      ++reserved;
      const bool room =
          held_[rank] + reserved <= limits_[rank] &&
          (costs_.memory_bytes.empty() ||
           clock.BytesHeld(rank) + reserved_bytes <= costs_.memory_bytes[rank]);
      if (!room || ready_[stage].forwards.empty()) continue;
      const int micro_batch = ready_[stage].forwards.top();
      const Key key = ForwardKey(stage, micro_batch);
      if (best.has_value() && best_key <= key) continue;
      best = {.stage = stage,
              .kind = ActionKind::kForward,
              .micro_batch = micro_batch};
      best_key = key;
    }
    return best;
  }

  std::optional<Action> BestGradient(int rank) const {
    std::optional<Action> best;
    Key best_key;
    for (const StageId stage : stages_[rank]) {
      if (ready_[stage].gradients.empty()) continue;
      const int micro_batch = ready_[stage].gradients.top();
      const Key key = OrderKey(rule_.gradients, -stage, micro_batch);
      if (best.has_value() && best_key <= key) continue;
      best = {.stage = stage,
              .kind = micro_batch >= first_split_ ? ActionKind::kInputGrad
                                                  : ActionKind::kBackward,
              .micro_batch = micro_batch};
      best_key = key;
    }
    return best;
  }

  // The weight gradient that has waited longest.
  std::optional<Action> BestWeight(int rank) const {
    std::optional<Action> best;
    for (const StageId stage : stages_[rank]) {
      if (ready_[stage].weights.empty()) continue;
      const int micro_batch = ready_[stage].weights.top();
      if (best.has_value() && best->micro_batch <= micro_batch) continue;
      best = {.stage = stage,
              .kind = ActionKind::kWeightGrad,
              .micro_batch = micro_batch};
    }
    return best;
  }

  Key ForwardKey(StageId stage, int micro_batch) const {
    return OrderKey(rule_.forwards, stage, micro_batch);
  }

  // Lower keys go first; `way` increases along the path of a micro-batch.
  Key OrderKey(ListRule::Order order, int way, int micro_batch) const {
    switch (order) {
      case ListRule::Order::kMicroBatch:
        return {micro_batch, -way, 0};
      case ListRule::Order::kBreadth:
        return {way, micro_batch, 0};
      case ListRule::Order::kDepth:
        return {-way, micro_batch, 0};
      case ListRule::Order::kRounds:
        break;
    }
    return {micro_batch / ranks_, way, micro_batch};
  }

  const PipelineCosts& costs_;
  ListRule rule_;
  int first_split_;  // A micro-batch.
  int ranks_;
  std::vector<std::vector<StageId>> stages_;
  std::vector<ReadyQueues> ready_;
  std::vector<int64_t> held_;  // Micro-batches, summed over stages.
  std::vector<int64_t> limits_;
  std::vector<bool> last_was_forward_;
  std::vector<std::vector<Action>> rows_;
};

}  // namespace

std::optional<Timetable> ListSchedule(const std::vector<int>& rank_of_stage,
                                      int ranks, int micro_batches,
                                      const PipelineCosts& costs,
                                      const ListRule& rule) {
  PipelineClock clock(rank_of_stage, ranks, micro_batches, costs,
                      {.explicit_transfers = false, .record = false});
  RuleDispatcher dispatcher(rank_of_stage, ranks, micro_batches, costs, rule);
  if (!clock.Run(dispatcher)) return std::nullopt;
  return Timetable{.micro_batches = micro_batches,
                   .rank_of_stage = rank_of_stage,
                   .rows = dispatcher.TakeRows()};
}

}  // namespace meshwright
