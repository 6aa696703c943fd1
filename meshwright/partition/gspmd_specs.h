// The shardings around a shard_map region in GSPMD's form: a call for each
// array, with device tiles and without names of axes.
//
//   {devices=[1,4,2]<=[2,4]T(1,0) last_tile_dim_replicate}    the whole array
//   {devices=[1,1,4,2]<=[2,4]T(1,0) last_tile_dims={manual, replicated}}
//
// is split over four groups of two devices; the compiler partitions what the
// devices of a group do, which here are replicas. The island has the first
// device of each group.
#ifndef MESHWRIGHT_PARTITION_GSPMD_SPECS_H_
#define MESHWRIGHT_PARTITION_GSPMD_SPECS_H_

#include "absl/status/statusor.h"
#include "meshwright/partition/island_specs.h"

namespace meshwright {

absl::StatusOr<IslandSpecs> ReadGspmdSpecs(const RegionCalls& calls);

// Whether a value that leaves a region is still within another.
bool IsPartlyManual(const Instruction& leave);

}  // namespace meshwright

#endif  // MESHWRIGHT_PARTITION_GSPMD_SPECS_H_
