// The inputs of one search for a plan.
#ifndef MESHWRIGHT_PLANNER_PLAN_TASK_H_
#define MESHWRIGHT_PLANNER_PLAN_TASK_H_

#include <cstdint>
#include <optional>

#include "meshwright/cost/rates.h"
#include "meshwright/hlo/module.h"
#include "meshwright/mesh/cluster.h"
#include "meshwright/planner/planner.h"
#include "meshwright/planner/search_policy.h"
#include "meshwright/planner/step_variant.h"

namespace meshwright {

// Internal settings of a search, beyond what a user can ask for.
struct SearchMode {
  // If set: minimise memory, whatever the time; and give up where the peak is
  // certain to be this many bytes or more.
  std::optional<int64_t> leanest_below;
  // Keep all non-pipelined plans that were lowered and fit (--measure).
  bool keeps_finalists = false;
};

struct PlanTask {
  const Module& module;
  const Cluster& cluster;
  const Rates& rates;
  const PlanRequest& request;
  int64_t memory_bytes = 0;  // Usable bytes of a device.
  StepContext context;
  SearchMode mode;
  SearchPolicy policy;

  // The same task for another request. `other` must outlive the result.
  PlanTask With(const PlanRequest& other) const {
    return {module, cluster, rates, other, memory_bytes, context, mode, policy};
  }
  const SearchEffort& EffortFor(const StepVariant& variant) const {
    return policy.EffortFor(variant.model.graph.ops.size());
  }
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_PLAN_TASK_H_
