// Calls that wait until a key of a store is set, without a thread for each.
#ifndef MESHWRIGHT_SERVICE_VALUE_WAITS_H_
#define MESHWRIGHT_SERVICE_VALUE_WAITS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "meshwright/wire/key_value_store.h"

namespace meshwright {

// Thread-safe.
class ValueWaits {
 public:
  using Done = std::function<void(absl::StatusOr<std::string>)>;

  explicit ValueWaits(KeyValueStore* store) : store_(store) {}

  // Calls `done` once, possibly immediately, with the value or the error.
  // Returns a number for Cancel().
  int64_t Wait(const std::string& key, absl::Duration timeout, Done done);
  // Calls `done` with kCancelled, unless it has been called.
  void Cancel(int64_t wait);
  absl::Status Set(const std::string& key, std::string value);
  // Checks for keys that were set directly in the store, and for timeouts.
  void Tick();

 private:
  struct Waiting {
    std::string key;
    absl::Time until;
    Done done;
  };

  // Ends timed-out waits, and those selected by `concerns` for which the store
  // has an answer.
  void Finish(const std::function<bool(const Waiting&)>& concerns);

  KeyValueStore* const store_;
  std::mutex mutex_;  // Guards the members below.
  int64_t last_ = 0;
  std::map<int64_t, Waiting> waiting_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_SERVICE_VALUE_WAITS_H_
