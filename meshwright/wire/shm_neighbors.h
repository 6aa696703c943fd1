// The workers of a job that share memory with this one.
//
// Workers of one machine try to open each other's segments, and publish the
// result through the store. Memory is shared among workers that could all open
// each other's, so that all members of a group decide alike.
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
  // All workers must call it, including those that do not want shared memory.
  static absl::StatusOr<std::unique_ptr<ShmNeighbors>> Find(
      const WireOptions& options, Health& health);

  // Whether all of these share memory with each other. All of them get the same
  // answer.
  bool Share(absl::Span<const int> ranks) const;

  // This worker's own segment, or that of one it shares memory with.
  ShmSegment& segment(int rank) { return *segments_[rank]; }

  // A free channel of this worker's own segment. Waits if all are in use, as
  // long as the wire is healthy.
  absl::StatusOr<int> TakeChannel(const Health& health);
  void ReturnChannel(int channel);
  // Makes all calls in progress check the wire's health.
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
