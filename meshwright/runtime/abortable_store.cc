#include "meshwright/runtime/abortable_store.h"

#include <algorithm>
#include <utility>

#include "meshwright/base/status_macros.h"
#include "meshwright/base/steady_time.h"

namespace meshwright {
namespace {

// Time between checks whether it was aborted.
constexpr absl::Duration kSlice = absl::Milliseconds(500);

}  // namespace

absl::Status AbortableStore::Set(const std::string& key, std::string value) {
  MW_RETURN_IF_ERROR(Enter());
  const absl::Status status = beneath_->Set(key, std::move(value));
  Leave();
  return status;
}

absl::StatusOr<std::string> AbortableStore::Get(const std::string& key,
                                                absl::Duration timeout) {
  const absl::Time until = SteadyNow() + timeout;
  while (true) {
    MW_RETURN_IF_ERROR(Enter());
    absl::StatusOr<std::string> value = beneath_->Get(
        key, std::clamp(until - SteadyNow(), absl::ZeroDuration(), kSlice));
    Leave();
    if (!absl::IsDeadlineExceeded(value.status()) || SteadyNow() >= until) {
      return value;
    }
  }
}

void AbortableStore::Abort(const absl::Status& why) {
  std::unique_lock lock(mutex_);
  aborted_.Update(why);
  left_.wait(lock, [&] { return users_ == 0; });
}

absl::Status AbortableStore::Enter() {
  const std::lock_guard lock(mutex_);
  if (aborted_.ok()) ++users_;
  return aborted_;
}

void AbortableStore::Leave() {
  const std::lock_guard lock(mutex_);
  if (--users_ == 0) left_.notify_all();
}

}  // namespace meshwright
