// Finds the fastest of several plans by running them on the available devices.
#ifndef MESHWRIGHT_CLI_MEASURE_PLANS_H_
#define MESHWRIGHT_CLI_MEASURE_PLANS_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/engine/client.h"
#include "meshwright/hlo/module.h"
#include "meshwright/mesh/cluster.h"
#include "meshwright/plan/plan.h"

namespace meshwright {

// Those of `plans` that are worth measuring: the fastest by prediction and
// others close to it, without duplicates.
std::vector<Plan> NearestPlans(std::vector<Plan> plans);

// How many times slower than the fastest (by the mean) a plan may be to stay in
// the comparison, after this many executables of each.
double StillNear(int copies);

// Which plan to take, given measured `seconds` (infinite: it did not run to the
// end): the first, which is predicted best, unless another is clearly faster.
// Requires: at least one.
size_t TakenOf(const std::vector<double>& seconds);

// With all devices of the cluster. kInvalidArgument or kNotFound if this
// machine does not have them.
absl::StatusOr<std::unique_ptr<Client>> ClientOf(const Cluster& cluster);

// Runs steps of all `plans` (not empty, non-pipelined, the one that is
// predicted best first) on synthetic inputs, in turns, and returns the fastest
// with the measurements; the first, unless another is clearly faster. Since two
// executables of one program differ by some percent, plans close to the fastest
// are compiled several times, for at most half a minute if two can be compared
// in that time. Plans that fail to run are dropped; an error if all do.
absl::StatusOr<Plan> QuickestMeasured(const Module& module,
                                      const std::vector<Plan>& plans,
                                      Client* client);

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_MEASURE_PLANS_H_
