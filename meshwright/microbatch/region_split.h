// Micro-batches through shard_map regions: whether a region computes the same
// on each micro-batch as on the whole batch.
//
// Micro-batch t is part t of the whole batch, so its rows are on other devices
// than in the whole batch: of 8 rows sharded over data=2, device 1 has rows
// 4..7; of the first of two micro-batches it has rows 2 and 3. A region may run
// once per micro-batch if that makes no difference:
//
//   rows      Values that hold part of the batch on each device. The region
//             must treat every row alike, on any device along the axes that
//             shard the batch: no collective runs along these axes, and no
//             operand differs along them or from row to row.
//   partial   Sums over a device's rows. They must be summed over these axes,
//             too, before they leave the region or meet values that differ
//             along the axes.
//
// Values that no axis of the region shards keep their rows in place. Residuals
// that one region saves for another (sharded over all axes) may have their rows
// in any order in between, as long as they enter as they left.
#ifndef MESHWRIGHT_MICROBATCH_REGION_SPLIT_H_
#define MESHWRIGHT_MICROBATCH_REGION_SPLIT_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/graph/flat_graph.h"
#include "meshwright/microbatch/time_split.h"
#include "meshwright/partition/open_islands.h"

namespace meshwright {

// As SplitOverTime, for the graph of `open`. kInvalidArgument, naming the
// region and its operation, if one has to see the whole batch.
absl::StatusOr<TimeSplit> SplitWithRegions(
    const FlatGraph& graph, const OpenedIslands& open, int64_t count,
    const std::vector<std::optional<int64_t>>& dimensions, bool estimates);

}  // namespace meshwright

#endif  // MESHWRIGHT_MICROBATCH_REGION_SPLIT_H_
