// Along which axes of a shard_map region's mesh devices differ in what they
// are, and in whom they talk to.
#ifndef MESHWRIGHT_MICROBATCH_REGION_DEVICES_H_
#define MESHWRIGHT_MICROBATCH_REGION_DEVICES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "meshwright/hlo/instruction.h"
#include "meshwright/mesh/mesh.h"

namespace meshwright {

// By device.
using DeviceValues = std::vector<int64_t>;

// "data,model": of the axes that have these parts (bits of AxisIds).
std::string AxisNames(uint32_t bits, const Mesh& mesh);

// The axes (bits of AxisIds) along which `values` differ.
uint32_t VaryingAxes(const DeviceValues& values, const Mesh& mesh);

// What an operation on scalars gives, by those of its operands: of integers
// that tell devices apart. nullopt for others.
std::optional<DeviceValues> Evaluate(
    const Instruction& instruction,
    const std::vector<const DeviceValues*>& operands, int64_t devices);

struct Reach {
  uint32_t axes = 0;     // Along which it communicates.
  uint32_t differs = 0;  // Along which it does so in different ways.
  // Among all devices that differ along `axes`, in their order.
  bool is_complete = false;
};
// Of a collective of a region.
Reach ReachOf(const Instruction& collective, const Mesh& mesh);

}  // namespace meshwright

#endif  // MESHWRIGHT_MICROBATCH_REGION_DEVICES_H_
