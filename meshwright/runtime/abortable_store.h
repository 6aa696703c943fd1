// A key-value store that can be aborted: then nobody waits in it any more, and
// the underlying store may be destroyed.
//
//   AbortableStore store(&link->store());
//   store.Get("job7/wire/1", absl::Minutes(5));         // One thread.
//   store.Abort(absl::AbortedError("worker 1 left"));   // Another: ends it.
#ifndef MESHWRIGHT_RUNTIME_ABORTABLE_STORE_H_
#define MESHWRIGHT_RUNTIME_ABORTABLE_STORE_H_

#include <condition_variable>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "meshwright/wire/key_value_store.h"

namespace meshwright {

class AbortableStore final : public KeyValueStore {
 public:
  explicit AbortableStore(KeyValueStore* beneath) : beneath_(beneath) {}

  absl::Status Set(const std::string& key, std::string value) override;
  absl::StatusOr<std::string> Get(const std::string& key,
                                  absl::Duration timeout) override;

  // Waiting calls return `why` within a second, later ones at once. Returns
  // when no call uses the underlying store any more.
  void Abort(const absl::Status& why);

 private:
  absl::Status Enter();
  void Leave();

  KeyValueStore* const beneath_;
  std::mutex mutex_;  // Guards the members below.
  std::condition_variable left_;
  int users_ = 0;
  absl::Status aborted_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_ABORTABLE_STORE_H_
