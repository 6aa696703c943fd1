// How the arrays that enter and leave a shard_map region are split, as the
// calls around it say, in whichever form.
#ifndef MESHWRIGHT_PARTITION_ISLAND_SPECS_H_
#define MESHWRIGHT_PARTITION_ISLAND_SPECS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/hlo/module.h"
#include "meshwright/rules/island.h"

namespace meshwright {

// Calls by which arrays enter a region, and leave one.
bool EntersRegion(const Instruction& instruction);
bool LeavesRegion(const Instruction& instruction);

// Operand `index` of a call that enters a region, without the hint that GSPMD
// has before it.
Instruction* EnteringValue(const Instruction& call, size_t index);

// Whether it is the call of a region's body that says how the region is split,
// as in older modules of Shardy.
bool DescribesRegion(const Instruction& instruction);

// The calls around one region, in order.
struct RegionCalls {
  std::vector<Instruction*> enter;
  std::vector<Instruction*> leave;
  const Instruction* description = nullptr;  // If the above do not say it.
};

struct IslandSpecs {
  Island island;
  // By device as the region's collectives number them: where it stands on the
  // island's mesh; -1 for copies of others, along axes that are not manual.
  std::vector<int64_t> positions;
};

// Operands and results in the order of the calls. Requires: some array leaves.
absl::StatusOr<IslandSpecs> ReadSpecs(const Module& module,
                                      const RegionCalls& calls);

}  // namespace meshwright

#endif  // MESHWRIGHT_PARTITION_ISLAND_SPECS_H_
