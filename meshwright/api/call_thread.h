// Runs the work of calls on a thread of its own, in order. A call whose client
// has given up returns at once, while work that has begun continues.
//
//   CallThread thread;
//   return thread.Do(call, [state] { return state->Work(); });
#ifndef MESHWRIGHT_API_CALL_THREAD_H_
#define MESHWRIGHT_API_CALL_THREAD_H_

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "meshwright/service/job_service.h"

namespace meshwright {

// Thread-safe.
class CallThread {
 public:
  using Work = std::function<absl::Status()>;

  CallThread();
  // Drops work that has not begun, and waits for what has.
  ~CallThread();
  CallThread(const CallThread&) = delete;
  CallThread& operator=(const CallThread&) = delete;

  // Runs the work in its turn and returns its result. kCancelled if the call is
  // given up first; work that has begun then continues, so it must own what it
  // uses.
  absl::Status Do(const JobCall& call, Work work);
  // Runs the work in its turn; returns at once.
  void Post(Work work);
  // Whether work is in progress or queued.
  bool is_busy();

 private:
  struct Task {
    Work work;
    bool is_done = false;
    absl::Status status;
  };

  std::shared_ptr<Task> Add(Work work);
  void Run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Task>> tasks_;
  bool is_working_ = false;
  bool is_over_ = false;
  // Declared last: starts when everything else is constructed.
  std::thread thread_;
};

// Mutual exclusion of calls. A call waits for its turn until it is given up.
class CallTurns {
 public:
  using Turn = std::unique_lock<std::timed_mutex>;

  absl::StatusOr<Turn> Take(const JobCall& call);

 private:
  std::timed_mutex mutex_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_API_CALL_THREAD_H_
