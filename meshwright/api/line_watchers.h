// Distributes lines to all who watch them.
//
//   LineWatchers watchers;
//   watchers.Watch(3, sink, call, is_over);  // A call: lines of job 3.
//   watchers.Send(3, R"({"job":3})");        // From any thread; never waits.
#ifndef MESHWRIGHT_API_LINE_WATCHERS_H_
#define MESHWRIGHT_API_LINE_WATCHERS_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "meshwright/service/job_service.h"

namespace meshwright {

// Thread-safe.
class LineWatchers {
 public:
  // How many lines a watcher can lag behind. For a slower one the oldest lines
  // are dropped, and it is told how many: {"job":3,"dropped":17}.
  static constexpr size_t kMaxLines = 1024;

  void Send(int64_t job, const std::string& line);

  // Calls `sink` with the lines of a job, or of all (0), until `is_over`, which
  // is polled several times a second: OK; kCancelled if the call is given up.
  absl::Status Watch(int64_t job, const JobService::LineSink& sink,
                     const JobCall& call, const std::function<bool()>& is_over);

 private:
  struct Watcher {
    int64_t job = 0;
    std::deque<std::string> lines;
    int64_t dropped = 0;
  };

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::shared_ptr<Watcher>> watchers_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_API_LINE_WATCHERS_H_
