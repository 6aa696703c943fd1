// What one search for a plan is about.
#ifndef MESHWRIGHT_PLANNER_PLAN_TASK_H_
#define MESHWRIGHT_PLANNER_PLAN_TASK_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "meshwright/cost/rates.h"
#include "meshwright/hlo/module.h"
#include "meshwright/mesh/cluster.h"
#include "meshwright/planner/cut_step.h"
#include "meshwright/planner/planner.h"
#include "meshwright/planner/search_policy.h"

namespace meshwright {

// How it is done, beyond what a user can ask for.
struct SearchMode {
  // A step with more operations is large: less is tried.
  size_t large_ops = kSearchPolicy.large_ops;
  // Take the least memory that can be, whatever the time; but look no further
  // where it is sure to be this much or more.
  std::optional<int64_t> leanest_below;
  // Plans without stages that were written and fit are kept.
  bool keeps_finalists = false;
};

struct PlanTask {
  const Module& module;
  const Cluster& cluster;
  const Rates& rates;
  const PlanRequest& request;
  int64_t memory_bytes = 0;  // That a device may use.
  StepContext context;
  SearchMode mode;

  // The same for another request, which outlives it.
  PlanTask With(const PlanRequest& other) const {
    return {module, cluster, rates, other, memory_bytes, context, mode};
  }
  bool IsLarge(const CutStep& cut) const {
    return cut.model.graph.ops.size() > mode.large_ops;
  }
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_PLAN_TASK_H_
