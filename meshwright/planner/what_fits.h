// What to tell a user whose step does not fit: how much memory per device, or
// how many devices, would suffice.
#ifndef MESHWRIGHT_PLANNER_WHAT_FITS_H_
#define MESHWRIGHT_PLANNER_WHAT_FITS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "meshwright/planner/plan_task.h"
#include "meshwright/planner/planner.h"

namespace meshwright {

struct WhatFits {
  // Memory with which planning succeeds, in GiB as --memory takes it; empty if
  // no plan is known.
  std::string memory_gib;
  int64_t memory_bytes = 0;
  // How many devices of this kind, with their present memory, would suffice.
  std::optional<int64_t> devices;
  int64_t most_devices = 0;  // So many devices do not suffice; 0: not tried.
  // Why smaller micro-batches are impossible; empty: they are possible.
  std::string no_micro_batches;
};

// For a task that does not fit, and its leanest plan. Doubles the number of
// hosts until the leanest plan on them fits.
WhatFits FindWhatFits(const PlanTask& task,
                      const absl::StatusOr<Plan>& leanest);

// One-line kResourceExhausted errors.
absl::Status DoesNotFit(const WhatFits& fits, int64_t devices, int64_t limit);
absl::Status StagesDoNotFit(const Plan& plan, int64_t limit);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_WHAT_FITS_H_
