#include "meshwright/runtime/staged_exchange.h"

#include <utility>

namespace meshwright {

void StagedExchange::Put(const Key& key, Parcel parcel) {
  {
    const std::lock_guard lock(mutex_);
    parked_[key] = std::move(parcel);
  }
  changed_.notify_all();
}

absl::StatusOr<StagedExchange::Parcel> StagedExchange::Take(const Key& key) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !error_.ok() || parked_.contains(key); });
  if (!error_.ok()) return error_;
  return std::move(parked_.extract(key).mapped());
}

void StagedExchange::Stop(absl::Status error) {
  {
    const std::lock_guard lock(mutex_);
    error_.Update(error);
  }
  changed_.notify_all();
}

absl::Status StagedExchange::error() const {
  const std::lock_guard lock(mutex_);
  return error_;
}

}  // namespace meshwright
