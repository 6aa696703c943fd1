// Prices of collectives along each set of a mesh's axes on a cluster.
//
//   two hosts of 4, 100 GB/s a device inside, 10 GB/s a host outwards,
//   mesh data=2,model=4, an all-reduce of B bytes
//   along model          level 0: 2 * 3/4 B out of a device
//   along data           level 1: 4 groups share a port: 4 * 2 * 1/2 B
//   along both           level 0: 2 * 3/4 B; level 1: the four of a host send
//                        B/4 each, twice: 4 * 2 * 1/2 B/4
#ifndef MESHWRIGHT_COST_PRICE_LIST_H_
#define MESHWRIGHT_COST_PRICE_LIST_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "meshwright/base/element_type.h"
#include "meshwright/cost/rates.h"
#include "meshwright/mesh/cluster.h"
#include "meshwright/mesh/cluster_mesh.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/reshard/prices.h"

namespace meshwright {

// For every subset of the mesh's sub-axes. Device i of the mesh is device
// `first_device` + i of the cluster; per_flop is for contractions of `type`.
// Linear in the number of subsets if axes do not straddle the blocks of link
// levels, otherwise that times the number of devices. Requires: rates.levels
// are those of the cluster.
Prices PricesFor(const Rates& rates, const Cluster& cluster, const Mesh& mesh,
                 int64_t first_device = 0,
                 ElementType type = ElementType::kF32);

// For groups of `devices` that use these links. A collective over several
// levels is hierarchical, each level working on what the level below leaves: an
// all-reduce is a reduce-scatter inside, an all-reduce of the parts across, and
// an all-gather inside. Latencies add up. Chunks are pipelined over all levels,
// so that the slowest port determines the time. (One ring through all devices
// would send at least as much over every level, and no fewer messages over the
// outermost.)
CollectivePrice PriceOver(absl::Span<const LinkUse> links, MoveKind kind,
                          int64_t devices, const Rates& rates,
                          const Cluster& cluster);

// LinksOf for all subsets of the sub-axes, by bits.
std::vector<std::vector<LinkUse>> LinksBySubset(const Cluster& cluster,
                                                const Mesh& mesh,
                                                int64_t first_device = 0);

}  // namespace meshwright

#endif  // MESHWRIGHT_COST_PRICE_LIST_H_
