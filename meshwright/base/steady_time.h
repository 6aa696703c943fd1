// Points in time for limits, by a clock that nobody sets: when the time of day
// jumps, waits neither end nor become longer.
//
//   const absl::Time deadline = SteadyNow() + limit;
//   changed.wait_until(lock, AsSteady(deadline));
//
// They mean nothing in another process. The time of day is absl::Now().
#ifndef MESHWRIGHT_BASE_STEADY_TIME_H_
#define MESHWRIGHT_BASE_STEADY_TIME_H_

#include <chrono>

#include "absl/time/time.h"

namespace meshwright {

inline absl::Time SteadyNow() {
  return absl::UnixEpoch() +
         absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
}

inline std::chrono::steady_clock::time_point AsSteady(absl::Time time) {
  return std::chrono::steady_clock::time_point(
      absl::ToChronoNanoseconds(time - absl::UnixEpoch()));
}

}  // namespace meshwright

#endif  // MESHWRIGHT_BASE_STEADY_TIME_H_
