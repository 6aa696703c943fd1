#include "meshwright/schedule/lower_bound.h"

#include <algorithm>
#include <limits>

#include "meshwright/schedule/timetable.h"

namespace meshwright {
namespace {

// The shortest time until a stage's gradients are passed on, and until all of
// its backward pass is done.
double ToGradient(const StageCost& cost) {
  return std::min(cost.input_grad, cost.BackwardSeconds());
}
double WholeBackward(const StageCost& cost) {
  return std::min(cost.input_grad + cost.weight_grad, cost.BackwardSeconds());
}

// Times of a single micro-batch without any other, by stage.
struct Lone {
  std::vector<double> forward_at;   // When its forward can start.
  std::vector<double> gradient_at;  // When its backward can start.
  std::vector<double> behind;       // From its gradient to the end of the step.
};

// `tail`, by rank: what it does after all of its actions.
Lone LoneTimes(const std::vector<int>& rank_of_stage,
               const std::vector<double>& tail, const PipelineCosts& costs) {
  const size_t stages = rank_of_stage.size();
  Lone lone = {std::vector<double>(stages), std::vector<double>(stages),
               std::vector<double>(stages)};
  std::vector<std::vector<const StageEdge*>> in(stages), out(stages);
  for (const StageEdge& edge : costs.edges) {
    in[edge.to].push_back(&edge);
    out[edge.from].push_back(&edge);
  }
  const auto moves = [&](const StageEdge* edge) {
    return rank_of_stage[edge->from] != rank_of_stage[edge->to] ? 1.0 : 0.0;
  };
  for (size_t stage = 0; stage < stages; ++stage) {
    const StageCost& cost = costs.stages[stage];
    lone.behind[stage] =
        WholeBackward(cost) - ToGradient(cost) + tail[rank_of_stage[stage]];
    for (const StageEdge* edge : in[stage]) {
      lone.forward_at[stage] = std::max(
          lone.forward_at[stage], lone.forward_at[edge->from] +
                                      costs.stages[edge->from].forward +
                                      moves(edge) * edge->forward_seconds);
      lone.behind[stage] = std::max(lone.behind[stage],
                                    moves(edge) * edge->backward_seconds +
                                        ToGradient(costs.stages[edge->from]) +
                                        lone.behind[edge->from]);
    }
  }
  for (size_t stage = stages; stage-- > 0;) {
    lone.gradient_at[stage] =
        lone.forward_at[stage] + costs.stages[stage].forward;
    for (const StageEdge* edge : out[stage]) {
      lone.gradient_at[stage] = std::max(
          lone.gradient_at[stage], lone.gradient_at[edge->to] +
                                       ToGradient(costs.stages[edge->to]) +
                                       moves(edge) * edge->backward_seconds);
    }
  }
  return lone;
}

}  // namespace

double StepLowerBound(const std::vector<int>& rank_of_stage, int ranks,
                      int micro_batches, const PipelineCosts& costs) {
  const double times = micro_batches;
  const auto stages_of = StagesByRank(rank_of_stage, ranks);
  // Ranks apply what they have, after their actions or after those of all.
  std::vector<double> tail(ranks, 0);
  for (int rank = 0; rank < ranks; ++rank) {
    for (const StageId stage : stages_of[rank]) {
      tail[rank] += costs.stages[stage].apply;
    }
  }
  double end = 0;
  if (costs.apply_after_all) {
    end = std::ranges::max(tail);
    tail.assign(ranks, 0);
  }
  const Lone lone = LoneTimes(rank_of_stage, tail, costs);
  double bound = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    double first_forward = std::numeric_limits<double>::infinity();
    double first_gradient = first_forward;
    double forwards = 0, backwards = 0, gradients = 0;
    double behind = first_forward;
    for (const StageId stage : stages_of[rank]) {
      const StageCost& cost = costs.stages[stage];
      first_forward = std::min(first_forward, lone.forward_at[stage]);
      first_gradient = std::min(first_gradient, lone.gradient_at[stage]);
      forwards += times * cost.forward;
      backwards += times * WholeBackward(cost);
      gradients += times * ToGradient(cost);
      behind = std::min(behind, lone.behind[stage]);
      bound = std::max({bound,
                        lone.gradient_at[stage] + times * ToGradient(cost) +
                            lone.behind[stage],
                        lone.forward_at[stage] +
                            times * (cost.forward + ToGradient(cost)) +
                            lone.behind[stage]});
    }
    if (forwards + backwards + tail[rank] == 0) continue;
    bound = std::max({bound, first_forward + forwards + backwards + tail[rank],
                      first_gradient + backwards + tail[rank],
                      first_forward + forwards + gradients + behind});
  }
  return bound + end;
}

}  // namespace meshwright
