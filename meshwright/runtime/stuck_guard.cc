#include "meshwright/runtime/stuck_guard.h"

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "meshwright/base/steady_time.h"

namespace meshwright {

StuckGuard::StuckGuard(absl::Duration patience, std::function<void()> stuck)
    : patience_(patience),
      stuck_(std::move(stuck)),
      thread_([this] { Watch(); }) {}

StuckGuard::~StuckGuard() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void StuckGuard::Enter() {
  const std::lock_guard lock(mutex_);
  is_entered_ = true;
  deadline_ = absl::InfiniteFuture();
}

void StuckGuard::Leave() {
  const std::lock_guard lock(mutex_);
  is_entered_ = false;
  deadline_ = absl::InfiniteFuture();
}

void StuckGuard::Expire() {
  {
    const std::lock_guard lock(mutex_);
    if (!is_entered_) return;
    deadline_ = std::min(deadline_, SteadyNow() + patience_);
  }
  changed_.notify_all();
}

void StuckGuard::Watch() {
  std::unique_lock lock(mutex_);
  while (!is_over_) {
    if (deadline_ == absl::InfiniteFuture()) {
      changed_.wait(lock);
      continue;
    }
    if (SteadyNow() >= deadline_) {
      lock.unlock();
      stuck_();
      return;
    }
    changed_.wait_until(lock, AsSteady(deadline_));
  }
}

}  // namespace meshwright
