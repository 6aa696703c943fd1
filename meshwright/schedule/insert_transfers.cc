#include "meshwright/schedule/insert_transfers.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include "meshwright/base/status_macros.h"
#include "meshwright/schedule/simulate.h"
#include "meshwright/schedule/validate.h"

namespace meshwright {
namespace {

// Nothing takes no time: actions without cost get this part of the shortest
// duration, so that causes end before their effects.
constexpr double kShort = 1e-3;

struct Made {
  double time = 0;
  int rank = 0;
  int cell = 0;
  Action send;
};

PipelineCosts WithPositiveDurations(const PipelineCosts& costs) {
  PipelineCosts result = costs;
  double shortest = 0;
  for (const StageCost& stage : costs.stages) {
    for (const double seconds : {stage.forward, stage.input_grad,
                                 stage.weight_grad, stage.BackwardSeconds()}) {
      if (seconds > 0 && (shortest == 0 || seconds < shortest)) {
        shortest = seconds;
      }
    }
  }
  const double least = shortest > 0 ? shortest * kShort : 1;
  for (StageCost& stage : result.stages) {
    stage.backward = std::max(stage.BackwardSeconds(), least);
    stage.forward = std::max(stage.forward, least);
    stage.input_grad = std::max(stage.input_grad, least);
    stage.weight_grad = std::max(stage.weight_grad, least);
    stage.apply = 0;
  }
  return result;
}

// Every value that crosses ranks, in the order in which they are produced.
std::vector<Made> Sends(const Timetable& timetable, const PipelineCosts& costs,
                        const Simulation& simulation) {
  std::vector<std::vector<StageId>> before(timetable.rank_of_stage.size());
  std::vector<std::vector<StageId>> after(timetable.rank_of_stage.size());
  for (const StageEdge& edge : costs.edges) {
    if (timetable.rank_of_stage[edge.from] ==
        timetable.rank_of_stage[edge.to]) {
      continue;
    }
    before[edge.to].push_back(edge.from);
    after[edge.from].push_back(edge.to);
  }
  std::vector<Made> sends;
  for (int rank = 0; rank < timetable.ranks(); ++rank) {
    const std::vector<TimedAction>& row = simulation.rows[rank];
    for (int cell = 0; cell < std::ssize(row); ++cell) {
      const Action& action = row[cell].action;
      const bool forward = action.kind == ActionKind::kForward;
      if (!forward && !TakesGradients(action.kind)) continue;
      for (const StageId peer :
           forward ? after[action.stage] : before[action.stage]) {
        sends.push_back({.time = row[cell].end,
                         .rank = rank,
                         .cell = cell,
                         .send = {.stage = action.stage,
                                  .kind = forward ? ActionKind::kSendForward
                                                  : ActionKind::kSendBackward,
                                  .micro_batch = action.micro_batch,
                                  .peer = peer}});
      }
    }
  }
  std::ranges::stable_sort(sends, {}, [](const Made& made) {
    return std::tie(made.time, made.rank, made.cell);
  });
  return sends;
}

}  // namespace

absl::StatusOr<Timetable> InsertTransfers(const Timetable& timetable,
                                          const PipelineCosts& costs) {
  if (timetable.has_transfers()) {
    MW_RETURN_IF_ERROR(Validate(timetable, costs));
    return timetable;
  }
  MW_ASSIGN_OR_RETURN(const Simulation simulation,
                      Simulate(timetable, WithPositiveDurations(costs)));
  // What is inserted before each cell of a row, and after its last.
  std::vector<std::vector<std::vector<Action>>> before;
  for (const std::vector<Action>& row : timetable.rows) {
    before.emplace_back(row.size() + 1);
  }
  for (const Made& made : Sends(timetable, costs, simulation)) {
    before[made.rank][made.cell + 1].push_back(made.send);
    const int to = timetable.rank_of_stage[made.send.peer];
    const std::vector<TimedAction>& row = simulation.rows[to];
    const auto running =
        std::ranges::upper_bound(row, made.time, {}, &TimedAction::end);
    before[to][running - row.begin()].push_back(OtherEnd(made.send));
  }
  Timetable result = timetable;
  for (int rank = 0; rank < timetable.ranks(); ++rank) {
    std::vector<Action> row;
    for (size_t cell = 0; cell <= timetable.rows[rank].size(); ++cell) {
      row.insert(row.end(), before[rank][cell].begin(),
                 before[rank][cell].end());
      if (cell < timetable.rows[rank].size()) {
        row.push_back(timetable.rows[rank][cell]);
      }
    }
    result.rows[rank] = std::move(row);
  }
  return result;
}

}  // namespace meshwright
