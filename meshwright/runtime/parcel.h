// What stages send one another in a step, and where it waits inside a worker.
#ifndef MESHWRIGHT_RUNTIME_PARCEL_H_
#define MESHWRIGHT_RUNTIME_PARCEL_H_

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "meshwright/engine/buffer.h"

namespace meshwright {

// An array on its way to a stage.
struct ParcelKey {
  enum class Kind : uint8_t { kValue, kAccumulator, kParameter, kAtWork };
  Kind kind = Kind::kValue;
  int64_t index = 0;
  int64_t micro_batch = 0;
  int32_t stage = 0;  // That receives it.

  auto operator<=>(const ParcelKey&) const = default;
};

// One of its tiles: as stages send them (0), or as the devices of the stage
// that receives share them (1).
struct PieceKey {
  ParcelKey parcel;
  int32_t round = 0;
  int32_t tile = 0;

  auto operator<=>(const PieceKey&) const = default;
};

// Where pieces wait that stay in this worker: a send parks, a receive waits for
// what it wants. Thread-safe.
class PieceRack {
 public:
  struct Piece {
    BufferPtr buffer;      // On the device that it goes to; may be on its way.
    double sent_at = 0;    // In seconds since the step began,
    double parked_at = 0;  // and when it was put here.
  };

  void Put(const PieceKey& key, Piece piece);
  // Waits. The error given to Stop, if that comes first.
  absl::StatusOr<Piece> Take(const PieceKey& key);
  // Ends all waiting: a rank has failed. The first error counts.
  void Stop(absl::Status error);
  absl::Status error() const;

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<PieceKey, Piece> parked_;
  absl::Status error_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_PARCEL_H_
