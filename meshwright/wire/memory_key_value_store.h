// A key-value store for the threads of one process.
#ifndef MESHWRIGHT_WIRE_MEMORY_KEY_VALUE_STORE_H_
#define MESHWRIGHT_WIRE_MEMORY_KEY_VALUE_STORE_H_

#include <condition_variable>
#include <mutex>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "meshwright/wire/key_value_store.h"

namespace meshwright {

class MemoryKeyValueStore : public KeyValueStore {
 public:
  absl::Status Set(const std::string& key, std::string value) override;
  absl::StatusOr<std::string> Get(const std::string& key,
                                  absl::Duration timeout) override;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  absl::flat_hash_map<std::string, std::string> values_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_WIRE_MEMORY_KEY_VALUE_STORE_H_
