// The state of a wire: what has failed, for everything that waits on it.
//
// A worker that fails tells the others why, and cannot be used any more. One
// that leaves in an orderly way, by destroying its wire, fails only what waits
// for it.
#ifndef MESHWRIGHT_WIRE_HEALTH_H_
#define MESHWRIGHT_WIRE_HEALTH_H_

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace meshwright {

// Thread-safe.
class Health {
 public:
  // `timeout` is the longest that anything may wait.
  Health(int rank, std::vector<std::string> names, absl::Duration timeout);

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(names_.size()); }
  const std::string& name(int rank) const { return names_[rank]; }
  absl::Duration timeout() const { return timeout_; }

  // OK, or why the wire has failed.
  absl::Status status() const;
  // The same for operations that need this worker, which may have left.
  absl::Status StatusOf(int peer) const;
  // False if status() and StatusOf() are OK. Cheap.
  bool changed() const { return changed_.load(std::memory_order_acquire); }
  // The status that other workers are told.
  absl::Status told() const;

  // Records the first failure and returns it. Others are told the same.
  absl::Status Fail(absl::Status why);
  absl::Status FailAsGone(int peer, const std::string& how);
  absl::Status FailAsSilent(int peer);
  // Like Fail(), at the request of this worker's own user.
  void Abort(absl::Status why);
  void Leave(int peer);

  // Runs after each change, on the thread that made it, and must not block.
  // Call before the wire is used.
  void AddListener(std::function<void()> listener);

 private:
  absl::Status Fail(absl::Status why, absl::Status told);
  void Notify();

  const int rank_;
  const std::vector<std::string> names_;
  const absl::Duration timeout_;
  std::vector<std::function<void()>> listeners_;
  std::atomic<bool> changed_ = false;
  mutable std::mutex mutex_;  // Guards the next three.
  absl::Status status_;
  absl::Status told_;
  std::vector<bool> left_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_WIRE_HEALTH_H_
