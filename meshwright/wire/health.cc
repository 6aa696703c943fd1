#include "meshwright/wire/health.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/check.h"

namespace meshwright {

Health::Health(int rank, std::vector<std::string> names, absl::Duration timeout)
    : rank_(rank),
      names_(std::move(names)),
      timeout_(timeout),
      left_(names_.size()) {}

absl::Status Health::status() const {
  if (!changed()) return absl::OkStatus();
  const std::lock_guard lock(mutex_);
  return status_;
}

absl::Status Health::StatusOf(int peer) const {
  if (!changed()) return absl::OkStatus();
  const std::lock_guard lock(mutex_);
  if (!status_.ok() || !left_[peer]) return status_;
  return absl::UnavailableError(
      absl::StrCat(names_[peer], " is gone: it closed its connections"));
}

absl::Status Health::told() const {
  const std::lock_guard lock(mutex_);
  return told_;
}

absl::Status Health::Fail(absl::Status why) { return Fail(why, why); }

absl::Status Health::FailAsGone(int peer, const std::string& how) {
  return Fail(
      absl::UnavailableError(absl::StrCat(names_[peer], " is gone: ", how)));
}

absl::Status Health::FailAsSilent(int peer) {
  return Fail(absl::DeadlineExceededError(
      absl::StrCat(names_[peer], " does not answer within ",
                   absl::FormatDuration(timeout_))));
}

void Health::Abort(absl::Status why) {
  const std::string told =
      absl::StrCat(names_[rank_], " gave up: ", why.message());
  Fail(std::move(why), absl::UnavailableError(told)).IgnoreError();
}

absl::Status Health::Fail(absl::Status why, absl::Status told) {
  MW_CHECK(!why.ok());
  {
    const std::lock_guard lock(mutex_);
    if (!status_.ok()) return status_;
    status_ = why;
    told_ = std::move(told);
  }
  Notify();
  return why;
}

void Health::Leave(int peer) {
  {
    const std::lock_guard lock(mutex_);
    left_[peer] = true;
  }
  Notify();
}

void Health::AddListener(std::function<void()> listener) {
  listeners_.push_back(std::move(listener));
}

void Health::Notify() {
  changed_.store(true, std::memory_order_release);
  for (const auto& listener : listeners_) listener();
}

}  // namespace meshwright
