// One call in a program, where the devices of this process meet.
//
// Of each group of the call the members here arrive one after another, each
// with its buffers. When all have, a round can begin; until it is over the next
// one waits, however early its members come.
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

// Not thread-safe; addresses of what rounds point to stay the same.
class CrossSite {
 public:
  // kInvalidArgument if the arrays are not as the call needs them.
  static absl::StatusOr<CrossSite> Create(CrossCall call, CrossArrays arrays,
                                          int process);
  // From the attributes and arrays of the call (program_passes/cross_call.h).
  static absl::StatusOr<CrossSite> Create(const FfiCall& call, int process);

  struct Round {
    CrossRound round;
    std::vector<FfiDone> done;  // As round.members.
    size_t meeting = 0;
    size_t caller = 0;  // Which member was the last to arrive.

    bool is_local() const { return round.places->is_alone(); }
  };

  const CrossArrays& arrays() const { return arrays_; }
  bool TakesPart(int64_t device) const { return places_.contains(device); }

  // The round that can begin now that `device` is here, if there is one.
  // Requires: TakesPart.
  std::optional<Round> Arrive(int64_t device, CrossArrival arrival);
  // The next round of a meeting whose round is over, if it can begin.
  std::optional<Round> Over(size_t meeting);
  bool HasArrivals() const;  // That wait.
  // Sends all away who wait.
  std::vector<FfiDone> Clear();

 private:
  struct Meeting {
    CrossPlaces places;
    std::vector<std::deque<CrossArrival>> waiting;  // By member here.
    bool is_on = false;                             // A round runs.
  };
  struct Place {
    size_t meeting = 0;
    size_t member = 0;  // Among those here.
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
