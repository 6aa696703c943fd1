// What a shard_map region computes on one device, as a computation of its own.
#ifndef MESHWRIGHT_PARTITION_ISLAND_BODY_H_
#define MESHWRIGHT_PARTITION_ISLAND_BODY_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/hlo/module.h"
#include "meshwright/partition/island_specs.h"

namespace meshwright {

// Adds it to `module`: a parameter per array that enters, a result per array
// that leaves (a tuple, unless one array leaves by itself). Devices that
// collectives name become `positions` (IslandSpecs); hints for partitioners are
// left out, in all that it calls too. Names are those of the originals.
absl::StatusOr<Computation*> MakeIslandBody(
    const RegionCalls& calls, const std::vector<int64_t>& positions,
    Module& module);

}  // namespace meshwright

#endif  // MESHWRIGHT_PARTITION_ISLAND_BODY_H_
