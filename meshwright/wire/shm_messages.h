// Messages to other workers of this machine, in shared memory. The sender fills
// them there and the receiver uses them there: nobody copies them.
//
//   auto memory = messages.Allocate(bytes);           // On worker 0.
//   uint64_t place = *messages.Lend(memory.bytes.data());
//   auto bytes = messages.Open(0, place, size);       // On worker 1.
//
// A message is used again when both have let go of it. Each begins with the
// number of those who hold it.
#ifndef MESHWRIGHT_WIRE_SHM_MESSAGES_H_
#define MESHWRIGHT_WIRE_SHM_MESSAGES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "meshwright/wire/shm_neighbors.h"
#include "meshwright/wire/wire.h"

namespace meshwright {

// Thread-safe. What it gives out keeps the neighbors' memory.
class ShmMessages {
 public:
  ShmMessages(std::shared_ptr<ShmNeighbors> neighbors, int rank)
      : neighbors_(std::move(neighbors)), rank_(rank) {}

  // nullopt: there is no room.
  std::optional<MessageMemory> Allocate(size_t bytes);
  // Holds a message for its receiver, to whom the number says where it is;
  // nullopt: these bytes are not one of ours.
  std::optional<uint64_t> Lend(const std::byte* message);
  // The receiver that was told has gone.
  void TakeBack(uint64_t place);
  // What another worker has lent to this one.
  absl::StatusOr<OwnedBytes> Open(int from, uint64_t place, size_t bytes);

 private:
  ShmSegment& own() { return neighbors_->segment(rank_); }
  void Collect();  // Requires the mutex.

  const std::shared_ptr<ShmNeighbors> neighbors_;
  const int rank_;
  std::mutex mutex_;  // Guards the members below.
  // Size by place; of what is free below `used_`, neighbors are one.
  std::map<uint64_t, uint64_t> taken_;
  std::map<uint64_t, uint64_t> free_;
  uint64_t used_ = 0;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_WIRE_SHM_MESSAGES_H_
