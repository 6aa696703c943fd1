// A shard_map region as the operations of its body, between calls that make
// arrays local and those that make them whole again: an island that is open.
//
//   l = f32[4,16] custom-call(x), custom_call_target="mw.region.enter",
//       backend_config="0 data=2,model=4: [data,-]"      x is f32[8,16]
//   d = u32[] custom-call(), custom_call_target="mw.region.device"
//   ...                                                   the body
//   y = f32[8,16] custom-call(r), custom_call_target="mw.region.leave", ...
//
// Along time (microbatch/) its operations are followed one by one, as others
// are. Collectives work on each element of a micro-batch by itself, but for the
// dimension that they join or cut.
#ifndef MESHWRIGHT_RULES_OPEN_ISLAND_H_
#define MESHWRIGHT_RULES_OPEN_ISLAND_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "meshwright/hlo/instruction.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/mesh/sharding.h"
#include "meshwright/rules/rule.h"

namespace meshwright {

inline constexpr char kRegionEnter[] = "mw.region.enter";
inline constexpr char kRegionLeave[] = "mw.region.leave";
inline constexpr char kRegionDevice[] = "mw.region.device";

// How one array enters or leaves.
struct RegionEdge {
  int64_t region = 0;  // Its number in the module.
  Mesh mesh;           // Of the island.
  Sharding sharding;   // Of the whole array.
};

bool EntersOpenIsland(const Instruction& instruction);
bool LeavesOpenIsland(const Instruction& instruction);
bool IsDeviceOfOpenIsland(const Instruction& instruction);

// As in backend_config.
std::string ToString(const RegionEdge& edge);
// Of an instruction that enters or leaves; kInvalidArgument if it is no edge.
absl::StatusOr<RegionEdge> RegionEdgeOf(const Instruction& instruction);

// Of those that enter or leave: the dimensions before and after are split
// together. `apart`: what each device has is split, so that of the whole
// array it is a part of each device's.
std::optional<Rule> RegionEdgeFactors(const Instruction& instruction,
                                      bool apart = false);
// Of a collective of a region: what it does to the arrays of one device.
std::optional<Rule> RegionCollectiveFactors(const Instruction& instruction);

}  // namespace meshwright

#endif  // MESHWRIGHT_RULES_OPEN_ISLAND_H_
