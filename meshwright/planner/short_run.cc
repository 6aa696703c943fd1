#include "meshwright/planner/short_run.h"

#include <algorithm>
#include <limits>

namespace meshwright {
namespace {

double RunSeconds(const PlanTask& task, double step_seconds) {
  const PlanRequest& request = task.request;
  if (!request.steps.has_value() || request.expert != Expert::kAuto) {
    return std::numeric_limits<double>::infinity();
  }
  return step_seconds * static_cast<double>(*request.steps);
}

}  // namespace

bool MayRepay(const PlanTask& task, const StepVariant& variant,
              double step_seconds) {
  const auto ops = static_cast<double>(variant.model.graph.ops.size());
  return task.policy.short_run.gain * RunSeconds(task, step_seconds) >
         task.policy.short_run.seconds_of_op * ops;
}

int64_t WorkThatRepays(const PlanTask& task, const PlanCandidate& found,
                       int64_t work) {
  const double saved = found.gap() * RunSeconds(task, found.plan().seconds);
  const double cells = task.policy.short_run.cells_of_second * saved;
  // A gap of 0 in an endless run is not a number.
  if (!(cells < static_cast<double>(work))) return work;
  return static_cast<int64_t>(cells);
}

}  // namespace meshwright
