#include "meshwright/service/value_waits.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/base/steady_time.h"

namespace meshwright {

int64_t ValueWaits::Wait(const std::string& key, absl::Duration timeout,
                         Done done) {
  int64_t wait = 0;
  {
    std::unique_lock lock(mutex_);
    wait = ++last_;
    waiting_[wait] = {key, SteadyNow() + timeout, std::move(done)};
  }
  // Only now, so that a Set() in between is not missed.
  Finish([&](const Waiting& waiting) { return waiting.key == key; });
  return wait;
}

void ValueWaits::Cancel(int64_t wait) {
  Done done;
  {
    std::unique_lock lock(mutex_);
    const auto found = waiting_.find(wait);
    if (found == waiting_.end()) return;
    done = std::move(found->second.done);
    waiting_.erase(found);
  }
  done(absl::CancelledError("the call was cancelled"));
}

absl::Status ValueWaits::Set(const std::string& key, std::string value) {
  MW_RETURN_IF_ERROR(store_->Set(key, std::move(value)));
  Finish([&](const Waiting& waiting) { return waiting.key == key; });
  return absl::OkStatus();
}

void ValueWaits::Tick() {
  Finish([](const Waiting&) { return true; });
}

void ValueWaits::Finish(const std::function<bool(const Waiting&)>& concerns) {
  std::vector<std::pair<Done, absl::StatusOr<std::string>>> finished;
  {
    std::unique_lock lock(mutex_);
    const absl::Time now = SteadyNow();
    for (auto next = waiting_.begin(); next != waiting_.end();) {
      Waiting& waiting = next->second;
      absl::StatusOr<std::string> value = absl::DeadlineExceededError("");
      if (concerns(waiting)) {
        value = store_->Get(waiting.key, absl::ZeroDuration());
      }
      const bool missing =
          value.status().code() == absl::StatusCode::kDeadlineExceeded;
      if (missing && now < waiting.until) {
        ++next;
        continue;
      }
      if (missing) {
        value = absl::DeadlineExceededError(
            absl::StrCat("nobody has set ", waiting.key));
      }
      finished.emplace_back(std::move(waiting.done), std::move(value));
      next = waiting_.erase(next);
    }
  }
  for (auto& [done, value] : finished) done(std::move(value));
}

}  // namespace meshwright
