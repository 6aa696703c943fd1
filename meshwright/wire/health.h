// What has gone wrong on a wire, for all that wait there.
//
// A worker that fails tells the others why and is of no more use. One that
// leaves in order, its wire destroyed, fails only what waits for it.
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
  // `timeout` is how long anything may wait.
  Health(int rank, std::vector<std::string> names, absl::Duration timeout);

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(names_.size()); }
  const std::string& name(int rank) const { return names_[rank]; }
  absl::Duration timeout() const { return timeout_; }

  // OK, or why nothing works any more.
  absl::Status status() const;
  // The same for what needs this worker, which may have left.
  absl::Status StatusOf(int peer) const;
  // False if status() and StatusOf() are OK. Cheap.
  bool changed() const { return changed_.load(std::memory_order_acquire); }
  // What the others are to hear.
  absl::Status told() const;

  // The first failure stays; returns it. Others hear the same.
  absl::Status Fail(absl::Status why);
  absl::Status FailAsGone(int peer, const std::string& how);
  absl::Status FailAsSilent(int peer);
  // Like Fail(), at the wish of this worker's own user.
  void Abort(absl::Status why);
  void Leave(int peer);

  // Runs after each change, in the thread that made it, and must not block.
  // Called before the wire is used.
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
