// One collective between processes: what the devices of this process that take
// part have brought, and how it becomes what they want.
//
// Devices 0 and 1 of this process and 2 and 3 of another sum up f32[8]: the two
// arrays here are added, the sum is all-reduced with the other process, 32
// bytes each way, and copied to both devices.
#ifndef MESHWRIGHT_CROSSING_CROSS_ROUND_H_
#define MESHWRIGHT_CROSSING_CROSS_ROUND_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "meshwright/base/element_type.h"
#include "meshwright/crossing/cross_places.h"
#include "meshwright/program_passes/cross_call.h"
#include "meshwright/wire/wire.h"

namespace meshwright {

// How much collectives had to do with other processes.
struct CrossTraffic {
  int64_t bytes_sent = 0;     // All-reduces count as the ring algorithm sends.
  double seconds_waited = 0;  // In the wire, summed over what ran at once.
  int64_t rounds = 0;         // Collectives, each once.
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

// The arrays of a call, dense and row-major; on all devices the same.
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
  // All members of the group that are in this process, by position.
  std::vector<CrossMember> members;
};

// The results of a device that takes part in nothing.
void SetZero(const CrossMember& member, const CrossArrays& arrays);

// kInvalidArgument if arrays are not as the call needs them; once per call.
absl::Status CheckArrays(const CrossCall& call, const CrossArrays& arrays);

// Fills the results. Waits for the other processes of the group, if there are
// any. Requires: CheckArrays() is OK.
absl::Status RunCrossRound(const CrossRound& round, Wire& wire,
                           CrossTrafficMeter& meter);

}  // namespace meshwright

#endif  // MESHWRIGHT_CROSSING_CROSS_ROUND_H_
