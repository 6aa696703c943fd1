#include "meshwright/schedule/simulate.h"

#include <algorithm>

#include "meshwright/base/check.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/schedule/clock.h"
#include "meshwright/schedule/validate.h"

namespace meshwright {
namespace {

// Keeps the order of the rows.
class RowDispatcher : public Dispatcher {
 public:
  explicit RowDispatcher(const Timetable& timetable)
      : rows_(timetable.rows), next_(timetable.rows.size()) {}

  std::optional<Action> Next(int rank, PipelineClock& clock) override {
    const std::vector<Action>& row = rows_[rank];
    size_t& next = next_[rank];
    for (; next < row.size() && IsTransfer(row[next].kind); ++next) {
      clock.Post(row[next]);
    }
    if (next == row.size() || !clock.IsReady(row[next])) return std::nullopt;
    return row[next++];
  }

 private:
  const std::vector<std::vector<Action>>& rows_;
  std::vector<size_t> next_;
};

}  // namespace

absl::StatusOr<Simulation> Simulate(const Timetable& timetable,
                                    const PipelineCosts& costs) {
  PipelineCosts unbounded = costs;
  unbounded.memory_bytes.clear();
  MW_RETURN_IF_ERROR(Validate(timetable, unbounded));
  return SimulateValid(timetable, costs, /*record=*/true);
}

Simulation SimulateValid(const Timetable& timetable, const PipelineCosts& costs,
                         bool record) {
  PipelineClock clock(
      timetable.rank_of_stage, timetable.ranks(), timetable.micro_batches,
      costs,
      {.explicit_transfers = timetable.has_transfers(), .record = record});
  RowDispatcher rows(timetable);
  MW_CHECK(clock.Run(rows)) << "the timetable is not valid";
  return clock.TakeResult();
}

double StepLowerBound(const std::vector<int>& rank_of_stage, int ranks,
                      int micro_batches, const PipelineCosts& costs) {
  const size_t stages = rank_of_stage.size();
  // When the first forward of a stage can start at the earliest, and how long
  // its gradients take to come back from behind.
  std::vector<double> start(stages, 0), back(stages, 0);
  for (int stage = 0; stage < std::ssize(rank_of_stage); ++stage) {
    for (const StageEdge& edge : costs.edges) {
      if (edge.to != stage) continue;
      const bool moves = rank_of_stage[edge.from] != rank_of_stage[stage];
      start[stage] = std::max(
          start[stage], start[edge.from] + costs.stages[edge.from].forward +
                            (moves ? edge.forward_seconds : 0));
    }
  }
  double bound = 0;
  const auto gradient = [&](int stage) {
    return std::min(costs.stages[stage].input_grad,
                    costs.stages[stage].BackwardSeconds());
  };
  const auto whole = [&](int stage) {
    const StageCost& cost = costs.stages[stage];
    return std::min(cost.input_grad + cost.weight_grad, cost.BackwardSeconds());
  };
  for (int stage = static_cast<int>(stages) - 1; stage >= 0; --stage) {
    double gradients_at = start[stage] + costs.stages[stage].forward;
    for (const StageEdge& edge : costs.edges) {
      if (edge.from != stage) continue;
      const bool moves = rank_of_stage[edge.to] != rank_of_stage[stage];
      gradients_at =
          std::max(gradients_at, back[edge.to] + gradient(edge.to) +
                                     (moves ? edge.backward_seconds : 0));
    }
    back[stage] = gradients_at;
    bound = std::max(bound,
                     gradients_at + whole(stage) + costs.stages[stage].apply);
  }
  for (int rank = 0; rank < ranks; ++rank) {
    double first = -1;
    double work = 0;
    for (int stage = 0; stage < std::ssize(rank_of_stage); ++stage) {
      if (rank_of_stage[stage] != rank) continue;
      first = first < 0 ? start[stage] : std::min(first, start[stage]);
      work += costs.stages[stage].apply +
              micro_batches * (costs.stages[stage].forward + whole(stage));
    }
    bound = std::max(bound, std::max(first, 0.0) + work);
  }
  return bound;
}

}  // namespace meshwright
