#include "meshwright/runtime/staged_costs.h"

#include <algorithm>
#include <map>
#include <utility>

#include "meshwright/base/median.h"
#include "meshwright/schedule/stage_edges.h"

namespace meshwright {

PipelineCosts MeasuredCosts(const StagedStep& step,
                            const Simulation& executed) {
  std::map<std::pair<int, ActionKind>, std::vector<double>> seconds;
  for (const std::vector<TimedAction>& row : executed.rows) {
    for (const TimedAction& timed : row) {
      seconds[{timed.action.stage, timed.action.kind}].push_back(timed.end -
                                                                 timed.begin);
    }
  }
  const auto median = [&](int stage, ActionKind kind) {
    const auto found = seconds.find({stage, kind});
    return found == seconds.end() ? 0.0 : Median(found->second);
  };
  PipelineCosts costs;
  costs.edges = EdgesOf(step);
  for (int stage = 0; stage < step.stages; ++stage) {
    StageCost cost{.forward = median(stage, ActionKind::kForward),
                   .input_grad = median(stage, ActionKind::kInputGrad),
                   .weight_grad = median(stage, ActionKind::kWeightGrad)};
    if (seconds.contains({stage, ActionKind::kBackward})) {
      cost.backward = median(stage, ActionKind::kBackward);
      // Never seen apart: as if they were equal.
      if (!seconds.contains({stage, ActionKind::kInputGrad})) {
        cost.input_grad = cost.weight_grad = *cost.backward / 2;
      }
    }
    // All its rounds.
    for (const double once : seconds[{stage, ActionKind::kApply}]) {
      cost.apply += once;
    }
    costs.stages.push_back(cost);
  }
  return costs;
}

}  // namespace meshwright
