// Which of several plans is the quickest on the devices at hand.
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

// Those of `plans` that are worth a measurement: the quickest by prediction and
// others that are near it, each once.
std::vector<Plan> NearestPlans(std::vector<Plan> plans);

// How many times the quickest one's mean a plan may take, after so many
// executables of each, to be compared further.
double StillNear(int copies);

// Which to take of plans that were measured to take `seconds` (infinite: it did
// not run, or not to the end): the first, predicted best, unless another is
// clearly ahead of it.
// Requires: there is one.
size_t TakenOf(const std::vector<double>& seconds);

// With all devices of the cluster. kInvalidArgument, kNotFound when this
// machine does not have them.
absl::StatusOr<std::unique_ptr<Client>> ClientOf(const Cluster& cluster);

// Runs steps of all `plans` (not empty, without stages, the one that is
// predicted best first) on made-up numbers, in turns, and returns the quickest
// with what was measured; the first, unless another is clearly ahead of it. Two
// executables of one program are some percent apart, so those that are near the
// quickest are compiled several times, for half a minute at most where two can
// be compared in it. What does not run is left out; an error if nothing does.
absl::StatusOr<Plan> QuickestMeasured(const Module& module,
                                      const std::vector<Plan>& plans,
                                      Client* client);

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_MEASURE_PLANS_H_
