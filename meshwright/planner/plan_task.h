// The inputs of one search for a plan.
#ifndef MESHWRIGHT_PLANNER_PLAN_TASK_H_
#define MESHWRIGHT_PLANNER_PLAN_TASK_H_

#include <cstdint>
#include <optional>

#include "meshwright/cost/part_rates.h"
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
  // As in MicroBatchOptions.
  int64_t row_blocks = 1;
  // Keep all non-pipelined plans that were lowered and fit (--measure).
  bool keeps_finalists = false;
};

struct PlanTask {
  const Module& module;
  const Cluster& cluster;
  const Rates& rates;
  const PlanRequest& request;
  int64_t memory_bytes = 0;  // Usable bytes of the smallest device.
  StepContext context;
  SearchMode mode;
  SearchPolicy policy;

  // The same task for another request. `other` must outlive the result.
  PlanTask With(const PlanRequest& other) const {
    return {module, cluster, rates, other, memory_bytes, context, mode, policy};
  }
  // Usable bytes of each of `count` devices, relative to `memory_bytes`. A
  // limit that the user gives is that of all devices.
  double MemoryTimes(int64_t first_device, int64_t count) const {
    return request.memory_bytes.has_value()
               ? 1
               : MemoryOfPart(cluster, first_device, count);
  }
  // What a search for so many equal parts of the cluster may count with, bytes
  // per device: the mean, as parts get work that suits their memory; without
  // equal parts that of the smallest device.
  int64_t MeanMemoryOf(int64_t parts) const {
    if (cluster.device_count() % parts != 0) return memory_bytes;
    return Bytes(request.memory_bytes.has_value()
                     ? 1
                     : MeanMemoryOfParts(cluster, parts));
  }
  // Usable bytes of devices with so many times the memory of the smallest.
  int64_t Bytes(double times) const {
    return times == 1 ? memory_bytes
                      : static_cast<int64_t>(times *
                                             static_cast<double>(memory_bytes));
  }
  const SearchEffort& EffortFor(const StepVariant& variant) const {
    return policy.EffortFor(variant.model.graph.ops.size());
  }
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_PLAN_TASK_H_
