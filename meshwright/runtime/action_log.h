// The most recent events on a worker, to be reported if it hangs.
#ifndef MESHWRIGHT_RUNTIME_ACTION_LOG_H_
#define MESHWRIGHT_RUNTIME_ACTION_LOG_H_

#include <chrono>
#include <cstddef>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

namespace meshwright {

// Thread-safe.
class ActionLog {
 public:
  void Add(std::string what);
  // Newest last: "step 7 2F3, 0.8 s ago".
  std::vector<std::string> Last() const;

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr size_t kKept = 8;

  struct Entry {
    Clock::time_point when;
    std::string what;
  };

  mutable std::mutex mutex_;
  std::deque<Entry> entries_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_ACTION_LOG_H_
