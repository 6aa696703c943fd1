// A key-value store in memory.
#ifndef MESHWRIGHT_SERVICE_MEMORY_STORE_FOR_TEST_H_
#define MESHWRIGHT_SERVICE_MEMORY_STORE_FOR_TEST_H_

#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/wire/key_value_store.h"

namespace meshwright {

class MemoryStoreForTest : public KeyValueStore {
 public:
  absl::Status Set(const std::string& key, std::string value) override {
    std::unique_lock lock(mutex_);
    values_[key] = std::move(value);
    changed_.notify_all();
    return absl::OkStatus();
  }
  absl::StatusOr<std::string> Get(const std::string& key,
                                  absl::Duration timeout) override {
    std::unique_lock lock(mutex_);
    const bool set =
        changed_.wait_for(lock, absl::ToChronoMilliseconds(timeout),
                          [&] { return values_.contains(key); });
    if (!set) return absl::DeadlineExceededError(absl::StrCat("no ", key));
    return values_[key];
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::string> values_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_SERVICE_MEMORY_STORE_FOR_TEST_H_
