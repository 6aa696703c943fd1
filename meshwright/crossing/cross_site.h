// One call in a program, at which the devices of this process rendezvous.
//
// The local members of each group of the call arrive one after another, each
// with its buffers. When all have arrived, a round can begin; the next one
// waits until it is over, however early its members arrive.
#ifndef MESHWRIGHT_CROSSING_CROSS_SITE_H_
#define MESHWRIGHT_CROSSING_CROSS_SITE_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "meshwright/crossing/cross_round.h"
#include "meshwright/engine/ffi.h"

namespace meshwright {

// A member that has arrived.
struct CrossArrival {
  CrossMember member;
  FfiDone done;
};

// Not thread-safe; what rounds point to has a stable address.
class CrossSite {
 public:
  // kInvalidArgument if the arrays do not fit the call.
  static absl::StatusOr<CrossSite> Create(CrossCall call, CrossArrays arrays,
                                          int process);
  // From the attributes and arrays of the call (crossing/cross_call.h).
  static absl::StatusOr<CrossSite> Create(const FfiCall& call, int process);

  struct Round {
    CrossRound round;
    std::vector<FfiDone> done;  // As round.members.
    size_t meeting = 0;
    size_t caller = 0;  // The member that arrived last.

    bool is_local() const { return round.places->is_alone(); }
  };

  const CrossArrays& arrays() const { return arrays_; }
  bool TakesPart(int64_t device) const { return places_.contains(device); }

  // The round that can begin now that `device` has arrived, if any. Requires:
  // TakesPart.
  std::optional<Round> Arrive(int64_t device, CrossArrival arrival);
  // The next round of a meeting whose round is over, if it can begin.
  std::optional<Round> Over(size_t meeting);
  bool HasArrivals() const;  // Whether members are waiting.
  // Removes all waiting members.
  std::vector<CrossArrival> Clear();

 private:
  struct Meeting {
    CrossPlaces places;
    std::vector<std::deque<CrossArrival>> waiting;  // By local member.
    bool is_on = false;                             // A round is in progress.
  };
  struct Place {
    size_t meeting = 0;
    size_t member = 0;  // Among local members.
    size_t position = 0;
  };

  std::optional<Round> Begin(size_t meeting, size_t caller);

  CrossCall call_;
  CrossArrays arrays_;
  std::vector<Meeting> meetings_;               // As call_.groups.
  absl::flat_hash_map<int64_t, Place> places_;  // By device.
};

}  // namespace meshwright

#endif  // MESHWRIGHT_CROSSING_CROSS_SITE_H_
