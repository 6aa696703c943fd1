// Waits for workers, and detects when they are lost.
#ifndef MESHWRIGHT_RUNTIME_WORKER_WATCH_H_
#define MESHWRIGHT_RUNTIME_WORKER_WATCH_H_

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "meshwright/runtime/remote_worker.h"

namespace meshwright {

using Team = std::vector<std::shared_ptr<RemoteWorker>>;

// Thread-safe.
class WorkerWatch {
 public:
  struct Limits {
    // A worker that sends nothing for this long is lost.
    absl::Duration silence = absl::Seconds(15);
    // Steps that take longer are considered hung.
    absl::Duration step = absl::Minutes(10);
    // How much longer workers wait for one another: the coordinator knows what
    // each of them did last, so it is to notice first.
    absl::Duration wire_margin = absl::Minutes(1);
    // After an error: how long to wait for the other workers' own errors.
    absl::Duration aftermath = absl::Seconds(5);

    absl::Duration wire() const { return step + wire_margin; }
  };
  // Why a worker ended, if its launcher knows more: "was killed by signal 9";
  // empty if it does not. May wait briefly.
  using Obituary = std::function<std::string(const proto::Hello& hello)>;

  WorkerWatch(Limits limits, Obituary obituary)
      : limits_(limits), obituary_(std::move(obituary)) {}

  const Limits& limits() const { return limits_; }

  // Call when something may have changed.
  void Notify();
  // Waits until `done` returns true. kUnavailable, naming it, if a worker of
  // the team is lost; kDeadlineExceeded after `limit`. `done` is called
  // repeatedly.
  absl::Status Wait(const Team& team, absl::Duration limit,
                    const std::function<bool()>& done);
  // The first lost worker of the team, with the reason. OK if none is.
  absl::Status FindLost(const Team& team) const;

 private:
  const Limits limits_;
  const Obituary obituary_;
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t changes_ = 0;
};

// A line for each worker: its name and its most recent actions.
std::string LastActions(const Team& team);

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_WORKER_WATCH_H_
