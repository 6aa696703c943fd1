#include "meshwright/schedule/timetable.h"

#include <algorithm>

namespace meshwright {

bool Timetable::has_transfers() const {
  return std::ranges::any_of(rows, [](const std::vector<Action>& row) {
    return std::ranges::any_of(
        row, [](const Action& action) { return IsTransfer(action.kind); });
  });
}

std::vector<std::vector<StageId>> StagesByRank(
    const std::vector<int>& rank_of_stage, int ranks) {
  std::vector<std::vector<StageId>> stages(static_cast<size_t>(ranks));
  for (StageId stage{0}; stage < std::ssize(rank_of_stage); ++stage) {
    stages[rank_of_stage[stage]].push_back(stage);
  }
  return stages;
}

Timetable WithoutTransfers(const Timetable& timetable) {
  Timetable result = timetable;
  for (std::vector<Action>& row : result.rows) {
    std::erase_if(row,
                  [](const Action& action) { return IsTransfer(action.kind); });
  }
  return result;
}

Timetable MergeBackwards(const Timetable& timetable) {
  Timetable result = timetable;
  for (std::vector<Action>& row : result.rows) {
    std::vector<Action> merged;
    for (const Action& action : row) {
      if (action.kind == ActionKind::kWeightGrad && !merged.empty() &&
          merged.back() == Action{.stage = action.stage,
                                  .kind = ActionKind::kInputGrad,
                                  .micro_batch = action.micro_batch}) {
        merged.back().kind = ActionKind::kBackward;
      } else {
        merged.push_back(action);
      }
    }
    row = std::move(merged);
  }
  return result;
}

}  // namespace meshwright
