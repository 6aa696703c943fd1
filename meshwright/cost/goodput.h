// Goodput: the part of the time in which a job with occasional failures makes
// progress that lasts.
//
//   16,384 devices, each of which fails every 50,000 hours: one fails every 3
//   hours. With 60 s to save and 300 s to start again, saving every 18 minutes
//   is best:
//   ExpectedGoodput({.devices = 16384, .device_mtbf_seconds = 50000 * 3600.,
//                    .save_seconds = 60, .restart_seconds = 300})
//     // .interval_seconds = 1.1e3, .share = 0.87
//
// Failures are a Poisson process, also while the job saves or restarts. Work
// since the last checkpoint is lost.
#ifndef MESHWRIGHT_COST_GOODPUT_H_
#define MESHWRIGHT_COST_GOODPUT_H_

#include <cstdint>
#include <optional>

namespace meshwright {

struct FailureModel {
  int64_t devices = 1;
  // Of one device, including its share of its host's failures.
  double device_mtbf_seconds = 0;
  double save_seconds = 0;     // Time for which steps stop for a checkpoint.
  double restart_seconds = 0;  // From a failure to the next step.
  // Time spent in steps between checkpoints; nullopt: the optimum.
  std::optional<double> interval_seconds;
};

struct Goodput {
  double mtbf_seconds = 0;           // Of all devices together.
  double interval_seconds = 0;       // Which `share` is for.
  double best_interval_seconds = 0;  // The one with the greatest share.
  double share = 1;  // Part of the time spent on steps that last.
};

// With E = e^(R/M) (e^((t+C)/M) - 1) M, the mean time for t seconds of steps
// and their checkpoint (Daly, 2006), the share is t / E; it is greatest where
// (1 - t/M) e^((t+C)/M) = 1, for small C at Young's sqrt(2 C M). Requires:
// positive mtbf and interval; no other figure is negative.
Goodput ExpectedGoodput(const FailureModel& model);

}  // namespace meshwright

#endif  // MESHWRIGHT_COST_GOODPUT_H_
