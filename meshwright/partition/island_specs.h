// The shardings of the arrays that enter and leave a shard_map region, read
// from the calls around it, in Shardy's or GSPMD's form.
#ifndef MESHWRIGHT_PARTITION_ISLAND_SPECS_H_
#define MESHWRIGHT_PARTITION_ISLAND_SPECS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/hlo/module.h"
#include "meshwright/rules/island.h"

namespace meshwright {

// Whether it is a call by which arrays enter (leave) a region.
bool EntersRegion(const Instruction& instruction);
bool LeavesRegion(const Instruction& instruction);

// Operand `index` of a call that enters a region, past the sharding hint that
// GSPMD puts before it.
Instruction* EnteringValue(const Instruction& call, size_t index);

// Whether it is the call of a region's body whose attributes describe the
// region's shardings, as in older modules of Shardy.
bool DescribesRegion(const Instruction& instruction);

// The calls around one region, in program order.
struct RegionCalls {
  std::vector<Instruction*> enter;
  std::vector<Instruction*> leave;
  // Set if `enter` and `leave` do not describe the shardings.
  const Instruction* description = nullptr;
};

struct IslandSpecs {
  Island island;
  // By device id in the region's collectives: its position on the island's
  // mesh; -1 for replicas along axes that are not manual.
  std::vector<int64_t> positions;
};

// Whether the one array that leaves a region is still within another, which is
// manual along other axes.
absl::StatusOr<bool> LeavesIntoRegion(const Module& module, Instruction& leave);

// Operands and results in the order of the calls. Requires: some array leaves
// the region.
absl::StatusOr<IslandSpecs> ReadSpecs(const Module& module,
                                      const RegionCalls& calls);

}  // namespace meshwright

#endif  // MESHWRIGHT_PARTITION_ISLAND_SPECS_H_
