// One collective through shared memory, in rounds.
//
//   ShmCall call(...);
//   Fill(call.buffer());
//   call.Publish();
//   MW_RETURN_IF_ERROR(call.AwaitAll());
//   Read(call.buffer_of(member));          // For every member.
//   call.NextRound();
//
// A member may fill its buffer of the next round as soon as AwaitAll() has
// returned: its previous contents have been read, since a member publishes a
// round only after reading the one before.
#ifndef MESHWRIGHT_WIRE_SHM_CALL_H_
#define MESHWRIGHT_WIRE_SHM_CALL_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "meshwright/wire/health.h"
#include "meshwright/wire/shm_neighbors.h"
#include "meshwright/wire/shm_segment.h"

namespace meshwright {

// Single-threaded.
class ShmCall {
 public:
  // `id` identifies the call, and is the same on all members. `rank` is an
  // index into `ranks`. Takes over `channel`.
  ShmCall(ShmNeighbors* neighbors, Health* health, absl::Span<const int> ranks,
          int rank, int channel, uint64_t id);
  // If no round failed, tells the others that this member is done.
  ~ShmCall();
  ShmCall(const ShmCall&) = delete;
  ShmCall& operator=(const ShmCall&) = delete;

  std::byte* buffer() { return own_.buffer(channel_, round_); }
  std::byte* next_buffer() { return own_.buffer(channel_, round_ + 1); }
  void Publish();
  absl::Status AwaitAll();
  const std::byte* buffer_of(int member);
  void NextRound() { ++round_; }

 private:
  // The channel with which another member takes part in this call; -1 until it
  // is known.
  int ChannelOf(int member);
  bool IsReady(int member);
  absl::Status Await(int member);
  ShmChannel& own_channel() { return own_.channel(channel_); }

  ShmNeighbors& neighbors_;
  Health& health_;
  const absl::Span<const int> ranks_;
  const int rank_;
  const uint64_t id_;
  ShmSegment& own_;
  const int channel_;
  uint32_t round_ = 0;
  bool failed_ = false;
  std::vector<int> channels_;  // By member.
};

}  // namespace meshwright

#endif  // MESHWRIGHT_WIRE_SHM_CALL_H_
