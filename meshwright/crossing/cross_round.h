// One execution of a collective between processes: from the data of this
// process's devices to their results.
//
// Devices 0 and 1 of this process and 2 and 3 of another sum f32[8]: the two
// local arrays are added, the sum is all-reduced with the other process, 32
// bytes in each direction, and copied to both devices.
#ifndef MESHWRIGHT_CROSSING_CROSS_ROUND_H_
#define MESHWRIGHT_CROSSING_CROSS_ROUND_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "meshwright/base/element_type.h"
#include "meshwright/crossing/cross_call.h"
#include "meshwright/crossing/cross_places.h"
#include "meshwright/wire/wire.h"

namespace meshwright {

// Communication with other processes.
struct CrossTraffic {
  int64_t bytes_sent = 0;  // All-reduces count as a ring algorithm sends.
  // For the wire, summed over concurrent collectives.
  double seconds_waited = 0;
  int64_t rounds = 0;  // Collectives, each once.
};

class CrossTrafficMeter {
 public:
  void Add(int64_t bytes, double seconds);
  void CountRound() { ++rounds_; }
  CrossTraffic traffic() const;

 private:
  std::atomic<int64_t> bytes_ = 0;
  std::atomic<int64_t> nanoseconds_ = 0;
  std::atomic<int64_t> rounds_ = 0;
};

// The arrays of a call, dense and row-major; the same on all devices.
struct CrossArrays {
  struct Array {
    ElementType type = ElementType::kInvalid;
    std::vector<int64_t> dimensions;

    int64_t bytes() const;
  };

  std::vector<Array> operands;
  std::vector<Array> results;
};

// Data of one device.
struct CrossMember {
  size_t position = 0;  // Among the group's members.
  std::vector<std::byte*> operands;
  std::vector<std::byte*> results;
};

struct CrossRound {
  const CrossCall* call = nullptr;
  const CrossGroup* group = nullptr;
  const CrossPlaces* places = nullptr;  // Of the group.
  const CrossArrays* arrays = nullptr;
  // All members of the group in this process, by position.
  std::vector<CrossMember> members;
};

// Sets the results of a device that is in no group.
void SetZero(const CrossMember& member, const CrossArrays& arrays);

// kInvalidArgument if the arrays do not fit the call; check once per call.
absl::Status CheckArrays(const CrossCall& call, const CrossArrays& arrays);

// Fills in the results. Waits for the other processes of the group, if any.
// Requires: CheckArrays() is OK.
absl::Status RunCrossRound(const CrossRound& round, Wire& wire,
                           CrossTrafficMeter& meter);

}  // namespace meshwright

#endif  // MESHWRIGHT_CROSSING_CROSS_ROUND_H_
