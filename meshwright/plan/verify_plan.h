// Checks that a plan still means what it says: that it is for this step, and
// that lowering gives the collectives and the tensors that it lists. A plan
// that another version made, or that was edited, is refused instead of giving a
// different program.
#ifndef MESHWRIGHT_PLAN_VERIFY_PLAN_H_
#define MESHWRIGHT_PLAN_VERIFY_PLAN_H_

#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "meshwright/hlo/module.h"
#include "meshwright/plan/plan.h"

namespace meshwright {

// What this version makes of a plan's module, each when it is asked for.
struct Remade {
  // The step that strategies are for: with rematerialisation, cut, looped over
  // micro-batches.
  std::function<absl::StatusOr<const Module*>()> step;
  // Those of the step's program, lowered as planned.
  std::function<absl::StatusOr<std::vector<PlannedCollective>>()> collectives;
  // The arrays that this program takes and gives.
  std::function<PlannedTensors()> tensors;
};

// kInvalidArgument, naming the first difference, unless the plan is for this
// module; the step is the one that it was made for; the collectives are what it
// lists: as many of each kind, along the same axes, of as many bytes, of which
// devices send as many; and the tensors have the names, shapes and shardings
// that it lists. Each is made only if those before are right; what is null is
// not checked.
absl::Status Verify(const Plan& plan, const Module& module,
                    const Remade& remade = {});

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_VERIFY_PLAN_H_
