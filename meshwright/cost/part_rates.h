// Rates of a subset of the devices of a heterogeneous cluster.
//
//   hosts of h200, then of a100-80; `rates` are those of the slowest, a100-80:
//   RatesOfPart(rates, cluster, 0, 8).matmul     3.2 times as fast
//   SpeedOfPart(cluster, 0, 8)                   3.2
//   SpeedOfPart(cluster, 0, 128)                 1: both are among them
//   MemoryOfPart(cluster, 0, 8)                  1.8: 141 GiB, not 80
#ifndef MESHWRIGHT_COST_PART_RATES_H_
#define MESHWRIGHT_COST_PART_RATES_H_

#include <cstdint>

#include "meshwright/cost/rates.h"
#include "meshwright/mesh/cluster.h"

namespace meshwright {

// Of `count` devices starting at `first_device`, all taken to be as fast as the
// slowest of them; `rates` are those of the whole cluster, as fast as its
// slowest.
Rates RatesOfPart(const Rates& rates, const Cluster& cluster,
                  int64_t first_device, int64_t count);

// The arithmetic speed of the slowest of these, relative to the slowest of all.
double SpeedOfPart(const Cluster& cluster, int64_t first_device, int64_t count);

// The mean of SpeedOfPart over `parts` equal parts of the cluster. Work that is
// divided among parts by speed takes the time on the slowest, divided by this.
double MeanSpeedOfParts(const Cluster& cluster, int64_t parts);

// The same of memory: of the smallest of these, relative to the smallest of
// all; and the mean over equal parts of the cluster.
double MemoryOfPart(const Cluster& cluster, int64_t first_device,
                    int64_t count);
double MeanMemoryOfParts(const Cluster& cluster, int64_t parts);

}  // namespace meshwright

#endif  // MESHWRIGHT_COST_PART_RATES_H_
