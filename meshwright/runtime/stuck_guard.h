// Detects that something which was told to end does not: a step whose devices
// wait for those of a lost worker cannot be stopped from outside.
//
//   StuckGuard guard(absl::Seconds(30), [] { EndProcess(3); });
//   guard.Enter();  run...  guard.Leave();     // One thread.
//   guard.Expire();                            // Another, when it should end.
#ifndef MESHWRIGHT_RUNTIME_STUCK_GUARD_H_
#define MESHWRIGHT_RUNTIME_STUCK_GUARD_H_

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "absl/time/time.h"

namespace meshwright {

// Thread-safe.
class StuckGuard {
 public:
  // `stuck` is called once, on a thread of its own, if what was entered is not
  // left within `patience` after Expire().
  StuckGuard(absl::Duration patience, std::function<void()> stuck);
  ~StuckGuard();

  void Enter();
  void Leave();
  // Does nothing unless something was entered.
  void Expire();

 private:
  void Watch();

  const absl::Duration patience_;
  const std::function<void()> stuck_;
  std::mutex mutex_;  // Guards the members below.
  std::condition_variable changed_;
  bool is_entered_ = false;
  bool is_over_ = false;
  absl::Time deadline_ = absl::InfiniteFuture();
  std::thread thread_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_STUCK_GUARD_H_
