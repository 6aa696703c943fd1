#include "meshwright/wire/memory_key_value_store.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/steady_time.h"

namespace meshwright {

absl::Status MemoryKeyValueStore::Set(const std::string& key,
                                      std::string value) {
  const std::lock_guard lock(mutex_);
  values_[key] = std::move(value);
  changed_.notify_all();
  return absl::OkStatus();
}

absl::StatusOr<std::string> MemoryKeyValueStore::Get(const std::string& key,
                                                     absl::Duration timeout) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_until(lock, AsSteady(SteadyNow() + timeout),
                           [&] { return values_.contains(key); })) {
    return absl::DeadlineExceededError(absl::StrCat(
        "nobody set ", key, " within ", absl::FormatDuration(timeout)));
  }
  return values_.at(key);
}

}  // namespace meshwright
