// Collectives among workers that share memory.
//
// A small all-reduce is one round: every member reads all data. A larger one is
// done in chunks. In round r each member publishes its chunk r and its reduced
// slice of chunk r - 1; it reduces its slice of chunk r from all members, and
// reads the slices of chunk r - 1 from the others.
#ifndef MESHWRIGHT_WIRE_SHM_GROUP_H_
#define MESHWRIGHT_WIRE_SHM_GROUP_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "meshwright/base/element_type.h"
#include "meshwright/wire/group.h"
#include "meshwright/wire/health.h"
#include "meshwright/wire/shm_call.h"
#include "meshwright/wire/shm_neighbors.h"

namespace meshwright {

class ShmGroup : public Group {
 public:
  // `ranks` ascend, contain this worker's own, and share memory. `neighbors`
  // and `health` must outlive the group.
  ShmGroup(ShmNeighbors* neighbors, Health* health, std::vector<int> ranks);

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(ranks_.size()); }

  absl::Status AllReduce(ReduceOp op, ElementType type,
                         absl::Span<std::byte> data, uint32_t tag) override;
  absl::Status ReduceScatter(ReduceOp op, ElementType type,
                             absl::Span<const std::byte> in,
                             absl::Span<std::byte> out, uint32_t tag) override;
  absl::Status AllGather(absl::Span<const std::byte> in,
                         absl::Span<std::byte> out, uint32_t tag) override;
  absl::Status Exchange(absl::Span<const Outgoing> sends,
                        absl::Span<const Incoming> receives,
                        uint32_t tag) override;

 private:
  enum class Kind : uint8_t {
    kAllReduce,
    kReduceScatter,
    kAllGather,
    kExchange
  };

  // Requires: `type` and `bytes` are the same on all members; otherwise they
  // never match.
  absl::StatusOr<std::unique_ptr<ShmCall>> Begin(Kind kind, ElementType type,
                                                 size_t bytes, uint32_t tag);
  absl::Status ReduceAtOnce(ReduceOp op, ElementType type,
                            absl::Span<std::byte> data, ShmCall& call);
  absl::Status ReduceInChunks(ReduceOp op, ElementType type,
                              absl::Span<std::byte> data, ShmCall& call);
  // `into` becomes the reduction of what is at `offset` in all members'
  // buffers; this member's own is `own`.
  void Combine(ReduceOp op, ElementType type, ShmCall& call,
               const std::byte* own, size_t offset, absl::Span<std::byte> into);

  ShmNeighbors* const neighbors_;
  Health* const health_;
  const std::vector<int> ranks_;
  const int rank_;
  const uint64_t slot_;  // Of the group.
  std::mutex mutex_;
  // Calls so far, by tag.
  absl::flat_hash_map<uint32_t, uint64_t> calls_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_WIRE_SHM_GROUP_H_
