// What it costs a plan that no rule splits some ops.
//
//   norm f32[8192,4096] on 8 H200, 12 times a step: on every device 12 times
//   its kernel, 0.98 ms; were it split evenly, 12 times the kernel on an eighth
//   of the work, 0.21 ms; and what an all-gather of its operand sends.
#ifndef MESHWRIGHT_PLANNER_PRICE_WHOLE_OPS_H_
#define MESHWRIGHT_PLANNER_PRICE_WHOLE_OPS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/hlo/module.h"
#include "meshwright/plan/plan.h"

namespace meshwright {

// By custom-call target or opcode, worst first; none on a single device. Times
// are of the rates that the plan was made with, kernels as in its prediction.
//
// Gathered for an op is what depends on the step's data (weights are gathered
// for split ops as well), is split, and is wanted whole by the op or by what
// leads to it, if that is computed whole too; but not where an op that is split
// wants it whole. With stages, as on the mesh of the first rank.
//
// Errors as PartitionPlan. Requires: passed Verify.
absl::StatusOr<std::vector<WholeOpCost>> PriceWholeOps(const Module& module,
                                                       const Plan& plan);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_PRICE_WHOLE_OPS_H_
