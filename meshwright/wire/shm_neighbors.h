// The workers of a job that share memory with this one.
//
// Workers of one machine try to open each other's segments and tell each other,
// through the store, whose they could. Memory is used among workers that could
// all open each other's, so that all members of a group decide alike.
#ifndef MESHWRIGHT_WIRE_SHM_NEIGHBORS_H_
#define MESHWRIGHT_WIRE_SHM_NEIGHBORS_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "meshwright/wire/gloo_wire.h"
#include "meshwright/wire/health.h"
#include "meshwright/wire/shm_segment.h"

namespace meshwright {

// Thread-safe.
class ShmNeighbors {
 public:
  // All workers call it, also those that do not want shared memory.
  static absl::StatusOr<std::unique_ptr<ShmNeighbors>> Find(
      const WireOptions& options, Health& health);

  // True if all of these share memory with each other. All of them agree.
  bool Share(absl::Span<const int> ranks) const;

  // This worker's own, or that of one it shares memory with.
  ShmSegment& segment(int rank) { return *segments_[rank]; }

  // A channel of this worker's own segment that nobody reads any more. Waits
  // for one if all are taken, as long as the wire is in order.
  absl::StatusOr<int> TakeChannel(const Health& health);
  void ReturnChannel(int channel);
  // So that all calls under way look at the wire's health.
  void WakeAll();

 private:
  explicit ShmNeighbors(int size) : segments_(size) {}

  int rank_ = 0;
  std::vector<std::unique_ptr<ShmSegment>> segments_;  // Null: not shared.
  // (a, b): a could open b's segment.
  absl::flat_hash_set<std::pair<int, int>> opened_;
  std::mutex mutex_;
  std::vector<bool> taken_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_WIRE_SHM_NEIGHBORS_H_
