// Rates of some devices of a cluster whose hosts differ.
//
//   hosts of h200, then of a100-80; `rates` are those of the slowest, a100-80:
//   RatesOfPart(rates, cluster, 0, 8).matmul     3.2 times as fast
//   SpeedOfPart(cluster, 0, 8)                   3.2
//   SpeedOfPart(cluster, 0, 128)                 1: both are among them
#ifndef MESHWRIGHT_COST_PART_RATES_H_
#define MESHWRIGHT_COST_PART_RATES_H_

#include <cstdint>

#include "meshwright/cost/rates.h"
#include "meshwright/mesh/cluster.h"

namespace meshwright {

// Of `count` devices from `first_device` on, which all work as the slowest of
// them; `rates` are those of all, as the slowest of all.
Rates RatesOfPart(const Rates& rates, const Cluster& cluster,
                  int64_t first_device, int64_t count);

// The arithmetic of the slowest of these, beside that of the slowest of all.
double SpeedOfPart(const Cluster& cluster, int64_t first_device, int64_t count);

// In the mean over the cluster's devices cut into `parts` of equal size: what
// work that is shared by speed takes is that of the slowest, divided by it.
double MeanSpeedOfParts(const Cluster& cluster, int64_t parts);

}  // namespace meshwright

#endif  // MESHWRIGHT_COST_PART_RATES_H_
