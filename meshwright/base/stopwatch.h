// Measures the seconds since its construction.
#ifndef MESHWRIGHT_BASE_STOPWATCH_H_
#define MESHWRIGHT_BASE_STOPWATCH_H_

#include <chrono>

namespace meshwright {

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(Clock::now() - start_).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

}  // namespace meshwright

#endif  // MESHWRIGHT_BASE_STOPWATCH_H_
