// Checks that a plan still means what it says: that it is for this step, and
// that lowering gives the collectives that it lists. A plan that another
// version made, or that was edited, is refused instead of giving a different
// program.
#ifndef MESHWRIGHT_PLAN_VERIFY_PLAN_H_
#define MESHWRIGHT_PLAN_VERIFY_PLAN_H_

#include <vector>

#include "absl/status/status.h"
#include "meshwright/hlo/module.h"
#include "meshwright/plan/plan.h"

namespace meshwright {

// kInvalidArgument if the plan was made for another module.
absl::Status VerifyModule(const Plan& plan, const Module& module);

// The same for the step made from the module (with rematerialisation, cut,
// looped over micro-batches), which strategies refer to.
absl::Status VerifyStep(const Plan& plan, const Module& step);

// kInvalidArgument, naming the first difference, unless `lowered` is what the
// plan lists: as many of each kind, along the same axes, of as many bytes.
absl::Status VerifyCollectives(const Plan& plan,
                               const std::vector<PlannedCollective>& lowered);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_VERIFY_PLAN_H_
