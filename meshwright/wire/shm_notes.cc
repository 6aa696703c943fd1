#include "meshwright/wire/shm_notes.h"

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/base/steady_time.h"
#include "meshwright/wire/futex.h"
#include "meshwright/wire/shm_segment.h"

namespace meshwright {
namespace {

// The longest sleep before a waiter checks whether the sender is still alive.
constexpr absl::Duration kLongestSleep = absl::Milliseconds(50);

}  // namespace

absl::Status ShmNotes::Send(int to, uint64_t slot, uint64_t place) {
  MW_RETURN_IF_ERROR(health_.StatusOf(to));
  ShmRing& ring = own().ring(to);
  {
    const std::lock_guard lock(send_mutex_);
    const uint32_t next = ring.sent.load();
    if (next - ring.taken.load() == ShmRing::kNotes) {
      return health_.Fail(absl::ResourceExhaustedError(absl::StrCat(
          ShmRing::kNotes, " messages wait for ", health_.name(to))));
    }
    ring.notes[next % ShmRing::kNotes] = {.slot = slot, .place = place};
    ring.sent.store(next + 1);
  }
  ShmSegment::Bell& bell = neighbors_->segment(to).bell();
  bell.rings.fetch_add(1);
  if (bell.sleepers.load() != 0) internal::FutexWakeAll(bell.rings);
  return absl::OkStatus();
}

std::optional<uint64_t> ShmNotes::Take(int from, uint64_t slot) {
  const std::lock_guard lock(mutex_);
  ShmRing& ring = neighbors_->segment(from).ring(health_.rank());
  const uint32_t end = ring.sent.load();
  uint32_t next = ring.taken.load();
  if (end - next <= ShmRing::kNotes) {
    for (; next != end; ++next) {
      const ShmRing::Note& note = ring.notes[next % ShmRing::kNotes];
      arrived_[{from, note.slot}].push_back(note.place);
    }
    ring.taken.store(end);
  }
  const auto found = arrived_.find({from, slot});
  if (found == arrived_.end()) return std::nullopt;
  const uint64_t place = found->second.front();
  found->second.pop_front();
  if (found->second.empty()) arrived_.erase(found);
  return place;
}

absl::StatusOr<uint64_t> ShmNotes::Await(int from, uint64_t slot) {
  const absl::Time deadline = SteadyNow() + health_.timeout();
  ShmSegment::Bell& bell = own().bell();
  while (true) {
    const uint32_t rings = bell.rings.load();
    bell.sleepers.fetch_add(1);
    std::optional<uint64_t> place = Take(from, slot);
    if (!place.has_value() && health_.StatusOf(from).ok()) {
      internal::FutexWait(bell.rings, rings, kLongestSleep);
      place = Take(from, slot);
    }
    bell.sleepers.fetch_sub(1);
    if (place.has_value()) return *place;
    const absl::Status status = health_.StatusOf(from);
    if (!status.ok()) return health_.Fail(status);
    if (SteadyNow() > deadline) return health_.FailAsSilent(from);
  }
}

}  // namespace meshwright
