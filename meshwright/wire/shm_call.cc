#include "meshwright/wire/shm_call.h"

#include <sched.h>

#include <algorithm>
#include <thread>

#include "absl/time/time.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/base/steady_time.h"
#include "meshwright/wire/futex.h"

namespace meshwright {
namespace {

// How often a member polls before it goes to sleep.
constexpr int kLooks = 200;
// The longest sleep before it checks whether the others are still alive.
constexpr absl::Duration kNap = absl::Milliseconds(50);

int Cores() {
  static const int cores =
      static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  return cores;
}

void Relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

ShmCall::ShmCall(ShmNeighbors* neighbors, Health* health,
                 absl::Span<const int> ranks, int rank, int channel,
                 uint64_t id)
    : neighbors_(*neighbors),
      health_(*health),
      ranks_(ranks),
      rank_(rank),
      id_(id),
      own_(neighbors_.segment(ranks[rank])),
      channel_(channel),
      channels_(ranks.size(), -1) {
  channels_[rank_] = channel_;
  ShmChannel& own = own_channel();
  own.rounds.store(0);
  own.readers.store(static_cast<uint32_t>(ranks_.size() - 1));
  own.call.store(id_);
}

ShmCall::~ShmCall() {
  // After a failure, others may still read the buffer; the wire is no longer
  // usable.
  if (failed_) return;
  for (size_t member = 0; member < ranks_.size(); ++member) {
    if (static_cast<int>(member) == rank_) continue;
    neighbors_.segment(ranks_[member])
        .channel(channels_[member])
        .readers.fetch_sub(1);
  }
  neighbors_.ReturnChannel(channel_);
}

void ShmCall::Publish() {
  own_channel().rounds.store(round_ + 1);
  // Members that have not begun the call see the round when they do.
  for (size_t member = 0; member < ranks_.size(); ++member) {
    if (static_cast<int>(member) == rank_) continue;
    const int place = ChannelOf(static_cast<int>(member));
    if (place < 0) continue;
    ShmChannel& other = neighbors_.segment(ranks_[member]).channel(place);
    other.bell.fetch_add(1);
    if (other.sleeping.load() != 0) internal::FutexWakeAll(other.bell);
  }
}

int ShmCall::ChannelOf(int member) {
  if (channels_[member] >= 0) return channels_[member];
  ShmSegment& segment = neighbors_.segment(ranks_[member]);
  const int used = std::min(segment.used_channels(), ShmSegment::kChannels);
  for (int i = 0; i < used; ++i) {
    if (segment.channel(i).call.load() == id_) return channels_[member] = i;
  }
  return -1;
}

bool ShmCall::IsReady(int member) {
  const int place = ChannelOf(member);
  return place >= 0 &&
         neighbors_.segment(ranks_[member]).channel(place).rounds.load() >
             round_;
}

absl::Status ShmCall::AwaitAll() {
  for (size_t member = 0; member < ranks_.size(); ++member) {
    if (static_cast<int>(member) == rank_) continue;
    const absl::Status status = Await(static_cast<int>(member));
    if (!status.ok()) {
      failed_ = true;
      return status;
    }
  }
  return absl::OkStatus();
}

absl::Status ShmCall::Await(int member) {
  const bool alone = static_cast<int>(ranks_.size()) <= Cores();
  for (int look = 0; look < kLooks; ++look) {
    if (IsReady(member)) return absl::OkStatus();
    if (alone) {
      Relax();
    } else if (look % 16 == 15) {
      sched_yield();
    }
  }
  ShmChannel& own = own_channel();
  const absl::Time deadline = SteadyNow() + health_.timeout();
  while (true) {
    const uint32_t bell = own.bell.load();
    own.sleeping.store(1);
    const bool ready = IsReady(member);
    if (!ready && health_.StatusOf(ranks_[member]).ok()) {
      internal::FutexWait(own.bell, bell, kNap);
    }
    own.sleeping.store(0);
    if (ready || IsReady(member)) return absl::OkStatus();
    const absl::Status status = health_.StatusOf(ranks_[member]);
    if (!status.ok()) return health_.Fail(status);
    if (SteadyNow() > deadline) return health_.FailAsSilent(ranks_[member]);
  }
}

const std::byte* ShmCall::buffer_of(int member) {
  return neighbors_.segment(ranks_[member]).buffer(channels_[member], round_);
}

}  // namespace meshwright
