// What to tell somebody whose step does not fit: how much memory a device would
// need, or how many devices there would have to be.
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
  // With which planning the same succeeds, in GiB as --memory takes it; empty
  // when no plan is known.
  std::string memory_gib;
  int64_t memory_bytes = 0;
  // Of this kind, so many that planning succeeds with the memory there is.
  std::optional<int64_t> devices;
  int64_t most_devices = 0;  // So many do not suffice; 0: not looked at.
  // Why smaller micro-batches are no way out; empty: they can be.
  std::string no_micro_batches;
};

// For a task that does not fit, and its leanest plan. Hosts are doubled until
// the leanest plan on them fits.
WhatFits FindWhatFits(const PlanTask& task,
                      const absl::StatusOr<PlanChoice>& leanest);

// Both kResourceExhausted, in one line.
absl::Status DoesNotFit(const WhatFits& fits, int64_t devices, int64_t limit);
absl::Status StagesDoNotFit(const Plan& plan, int64_t limit);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_WHAT_FITS_H_
