// What it costs a plan that some ops have no sharding rule and are computed
// whole on every device.
//
//   norm f32[8192,4096] on 8 H200, 12 times a step: on every device 12 times
//   its kernel, 0.98 ms; were it split evenly, 12 times the kernel on an eighth
//   of the work, 0.21 ms; plus what the all-gather of its operand sends.
#ifndef MESHWRIGHT_PLANNER_PRICE_WHOLE_OPS_H_
#define MESHWRIGHT_PLANNER_PRICE_WHOLE_OPS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/hlo/module.h"
#include "meshwright/plan/plan.h"

namespace meshwright {

// By custom-call target or opcode, most expensive first; empty for a single
// device. Times are by the rates that the plan was made with, kernels as in its
// prediction.
//
// An all-gather counts as caused by such an op if the gathered value depends on
// the step's data (weights are gathered for split ops as well), is sharded, and
// is needed whole by the op or by an unsplit producer of its operands; but not
// if an op that is split needs it whole too. For pipelines, as on the mesh of
// the first rank.
//
// Errors as PartitionPlan. Requires: `module` passed Verify.
absl::StatusOr<std::vector<WholeOpCost>> PriceWholeOps(const Module& module,
                                                       const Plan& plan);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_PRICE_WHOLE_OPS_H_
