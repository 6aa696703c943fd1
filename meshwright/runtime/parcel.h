// Arrays in transit between stages within a step, and where they wait inside a
// worker.
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

// Identifies an array on its way to a stage.
struct ParcelKey {
  enum class Kind : uint8_t { kValue, kAccumulator, kParameter, kAtWork };
  Kind kind = Kind::kValue;
  int64_t index = 0;
  int64_t micro_batch = 0;
  StageId stage;  // The receiving stage.

  auto operator<=>(const ParcelKey&) const = default;
};

// Identifies one of its tiles: those sent between stages (round 0), or those
// exchanged among the devices of the receiving stage (round 1).
struct PieceKey {
  ParcelKey parcel;
  int32_t round = 0;
  int32_t tile = 0;

  auto operator<=>(const PieceKey&) const = default;
};

// Where pieces wait that stay within this worker: a send deposits, a receive
// waits for what it needs. Thread-safe.
class PieceRack {
 public:
  struct Piece {
    BufferPtr buffer;  // On its target device; may still be computed or copied.
    double sent_at = 0;    // In seconds since the step began,
    double parked_at = 0;  // and when it was put here.
  };

  void Put(const PieceKey& key, Piece piece);
  // Waits; returns the error given to Stop if that comes first.
  absl::StatusOr<Piece> Take(const PieceKey& key);
  // Ends all waiting, because a rank has failed. The first error is kept.
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
