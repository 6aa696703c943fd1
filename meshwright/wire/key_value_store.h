// A key-value store for small values by which processes rendezvous.
//
//   store->Set("job7/wire/0", address);
//   store->Get("job7/wire/1", absl::Seconds(30));   // Waits until it is set.
#ifndef MESHWRIGHT_WIRE_KEY_VALUE_STORE_H_
#define MESHWRIGHT_WIRE_KEY_VALUE_STORE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace meshwright {

// Thread-safe.
class KeyValueStore {
 public:
  virtual ~KeyValueStore() = default;

  virtual absl::Status Set(const std::string& key, std::string value) = 0;
  // Waits for the key; kDeadlineExceeded, naming it, after `timeout`.
  virtual absl::StatusOr<std::string> Get(const std::string& key,
                                          absl::Duration timeout) = 0;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_WIRE_KEY_VALUE_STORE_H_
