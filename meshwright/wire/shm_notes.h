// Short notes between workers of one machine, in shared memory: which message
// is meant, and where it is.
//
//   notes.Send(1, slot, place);                            // On worker 0.
//   MW_ASSIGN_OR_RETURN(place, notes.Await(0, slot));      // On worker 1.
//
// A sender has a ring for each receiver, in its own segment. Whoever waits
// takes what is in it, and keeps what others wait for. Gloo's small messages
// would cost more than large ones: its thread spins while another one writes.
#ifndef MESHWRIGHT_WIRE_SHM_NOTES_H_
#define MESHWRIGHT_WIRE_SHM_NOTES_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "meshwright/wire/health.h"
#include "meshwright/wire/shm_neighbors.h"

namespace meshwright {

// Thread-safe.
class ShmNotes {
 public:
  // `health` is this worker's, and must outlive it.
  ShmNotes(std::shared_ptr<ShmNeighbors> neighbors, Health* health)
      : neighbors_(std::move(neighbors)), health_(*health) {}

  // Notes of one slot arrive in order.
  absl::Status Send(int to, uint64_t slot, uint64_t place);
  // A note that has arrived.
  std::optional<uint64_t> Take(int from, uint64_t slot);
  // Waits for one; a failure is one of the whole wire.
  absl::StatusOr<uint64_t> Await(int from, uint64_t slot);

 private:
  ShmSegment& own() { return neighbors_->segment(health_.rank()); }

  const std::shared_ptr<ShmNeighbors> neighbors_;
  Health& health_;
  std::mutex send_mutex_;
  std::mutex mutex_;  // Guards what has arrived, by sender and slot.
  absl::flat_hash_map<std::pair<int, uint64_t>, std::deque<uint64_t>> arrived_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_WIRE_SHM_NOTES_H_
