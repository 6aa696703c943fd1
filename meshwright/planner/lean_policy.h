// Planning for the least memory (leanest.h, what_fits.h). A part of
// SearchPolicy.
#ifndef MESHWRIGHT_PLANNER_LEAN_POLICY_H_
#define MESHWRIGHT_PLANNER_LEAN_POLICY_H_

#include <cstddef>
#include <cstdint>

namespace meshwright {

struct LeanPolicy {
  // Minimum time to look for stages that fit before a step is refused,
  // whatever the time limit: a plan is worth more than the time.
  double least_seconds = 2;
  // And the share of the remaining time limit for stages that fit where nothing
  // without stages does.
  double share_for_stages = 0.25;
  // Memory that a lean plan may use relative to the lower bound, in the order
  // in which they are tried.
  double slacks[4] = {1.05, 1.5, 4, 1e6};
  // Gap to the best step time at which the solver stops.
  double gap = 0.1;
  size_t max_settings = 4;
  size_t max_counts = 3;
  // Largest cluster that is tried when nothing fits.
  int64_t most_devices = 4096;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_LEAN_POLICY_H_
