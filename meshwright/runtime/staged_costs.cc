#include "meshwright/runtime/staged_costs.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

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
  const auto mean = [&](StageId stage, ActionKind kind) {
    const auto found = seconds.find({stage, kind});
    if (found == seconds.end()) return 0.0;
    const std::vector<double>& all = found->second;
    return std::accumulate(all.begin(), all.end(), 0.0) /
           static_cast<double>(all.size());
  };
  PipelineCosts costs;
  costs.edges = EdgesOf(step);
  for (StageId stage{0}; stage < step.stages; ++stage) {
    StageCost cost{.forward = mean(stage, ActionKind::kForward),
                   .input_grad = mean(stage, ActionKind::kInputGrad),
                   .weight_grad = mean(stage, ActionKind::kWeightGrad)};
    if (seconds.contains({stage, ActionKind::kBackward})) {
      cost.backward = mean(stage, ActionKind::kBackward);
      // The halves were never timed separately: they are taken to be equal.
      if (!seconds.contains({stage, ActionKind::kInputGrad})) {
        cost.input_grad = cost.weight_grad = *cost.backward / 2;
      }
    }
    // All rounds of the apply program.
    for (const double once : seconds[{stage, ActionKind::kApply}]) {
      cost.apply += once;
    }
    costs.stages.push_back(cost);
  }
  return costs;
}

}  // namespace meshwright
