// Where the ranks of a pipeline leave arrays for one another: a send parks, a
// receive waits for what it wants.
#ifndef MESHWRIGHT_RUNTIME_STAGED_EXCHANGE_H_
#define MESHWRIGHT_RUNTIME_STAGED_EXCHANGE_H_

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "absl/status/statusor.h"
#include "meshwright/runtime/sharded_array.h"

namespace meshwright {

// Arrays may be still on their way; several may read one.
using SharedArray = std::shared_ptr<ShardedArray>;

class StagedExchange {
 public:
  struct Key {
    enum class Kind : uint8_t { kValue, kAccumulator, kParameter, kAtWork };
    Kind kind = Kind::kValue;
    int64_t index = 0;
    int64_t micro_batch = 0;
    int32_t stage = 0;  // That receives it.

    auto operator<=>(const Key&) const = default;
  };

  struct Parcel {
    SharedArray array;
    int32_t from = 0;      // The stage that sent it,
    double sent_at = 0;    // in seconds since the step began,
    double parked_at = 0;  // and when it was put here.
  };

  void Put(const Key& key, Parcel parcel);
  // Waits. The error given to Stop, if that comes first.
  absl::StatusOr<Parcel> Take(const Key& key);
  // Ends all waiting: a rank has failed. The first error counts.
  void Stop(absl::Status error);
  absl::Status error() const;

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Key, Parcel> parked_;
  absl::Status error_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_STAGED_EXCHANGE_H_
