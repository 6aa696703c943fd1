// How the values of shard_map regions depend on the device (region_split.h).
#ifndef MESHWRIGHT_MICROBATCH_REGION_VALUES_H_
#define MESHWRIGHT_MICROBATCH_REGION_VALUES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "meshwright/hlo/instruction.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/mesh/sharding.h"

namespace meshwright {

inline constexpr int32_t kOutside = -1;  // Of a region's number: none.

// Axes are bits of AxisIds of the region's mesh.
struct OnDevices {
  bool is_known = false;
  uint32_t varies = 0;     // It differs along these, as a row does on any.
  AxisList rows;           // Of rows: along these devices have others.
  uint32_t unreduced = 0;  // Partial: along these it is still to be summed.
  // Of what left a region, and lies as it did: how, and which region. It may
  // enter one again as it was.
  std::string layout;
  int64_t rank = 0;  // As it left; loops stack such arrays.
  int32_t left = kOutside;
  bool apart = false;  // Its rows are in an order of devices, not the batch's.

  bool operator==(const OnDevices&) const = default;
};

// The dimension that is split over time.
std::optional<size_t> SplitDimension(const Sharding& state);

// Makes of what is said of a collective's operand what is true of its result.
// Why it cannot be done to each micro-batch by itself; empty if it can.
std::string Communicated(const Instruction& collective, const Mesh& mesh,
                         OnDevices& value);

}  // namespace meshwright

#endif  // MESHWRIGHT_MICROBATCH_REGION_VALUES_H_
