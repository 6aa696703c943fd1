// Does the work of calls on a thread of its own, one after another. A call that
// its client has given up returns at once, though what it has begun goes on.
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
  // Drops what has not begun, waits for what has.
  ~CallThread();
  CallThread(const CallThread&) = delete;
  CallThread& operator=(const CallThread&) = delete;

  // In its turn; what the work returns. kCancelled when the call is given up
  // before: what has begun by then goes on, so the work owns what it uses.
  absl::Status Do(const JobCall& call, Work work);
  // In its turn; returns at once.
  void Post(Work work);
  // Whether something is under way or waits.
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
  std::thread thread_;  // Last: starts when the rest is there.
};

// Calls that exclude each other. A call waits for its turn until it is given
// up.
class CallTurns {
 public:
  using Turn = std::unique_lock<std::timed_mutex>;

  absl::StatusOr<Turn> Take(const JobCall& call);

 private:
  std::timed_mutex mutex_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_API_CALL_THREAD_H_
