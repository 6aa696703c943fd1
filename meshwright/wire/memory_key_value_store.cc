#include "meshwright/wire/memory_key_value_store.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace meshwright {

absl::Status MemoryKeyValueStore::Set(const std::string& key,
                                      std::string value) {
  absl::MutexLock lock(&mutex_);
  values_[key] = std::move(value);
  return absl::OkStatus();
}

absl::StatusOr<std::string> MemoryKeyValueStore::Get(const std::string& key,
                                                     absl::Duration timeout) {
  absl::MutexLock lock(&mutex_);
  const auto is_set = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return values_.contains(key);
  };
  if (!mutex_.AwaitWithTimeout(absl::Condition(&is_set), timeout)) {
    return absl::DeadlineExceededError(absl::StrCat(
        "nobody set ", key, " within ", absl::FormatDuration(timeout)));
  }
  return values_.at(key);
}

}  // namespace meshwright
