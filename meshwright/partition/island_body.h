// The per-device computation of a shard_map region, as a computation of its
// own.
#ifndef MESHWRIGHT_PARTITION_ISLAND_BODY_H_
#define MESHWRIGHT_PARTITION_ISLAND_BODY_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/hlo/module.h"
#include "meshwright/partition/island_specs.h"

namespace meshwright {

// Adds the computation to `module`: a parameter for each array that enters, a
// result for each array that leaves (a tuple, unless a single array leaves by
// itself). Device ids in its collectives are mapped through `positions`
// (IslandSpecs); partitioner hints are dropped, in everything that it calls
// too. Instructions keep their names.
absl::StatusOr<Computation*> MakeIslandBody(
    const RegionCalls& calls, const std::vector<int64_t>& positions,
    Module& module);

}  // namespace meshwright

#endif  // MESHWRIGHT_PARTITION_ISLAND_BODY_H_
