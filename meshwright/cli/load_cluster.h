// Clusters and rates named on the command line.
#ifndef MESHWRIGHT_CLI_LOAD_CLUSTER_H_
#define MESHWRIGHT_CLI_LOAD_CLUSTER_H_

#include <string>

#include "absl/status/statusor.h"
#include "meshwright/cli/command_line.h"
#include "meshwright/cost/rates.h"
#include "meshwright/mesh/cluster.h"

namespace meshwright {

// A file, or a spec such as "cpu:8".
absl::StatusOr<Cluster> LoadCluster(const std::string& text);

// What devices and links achieve: calibrated where that is known (--database,
// by default the user's) unless --assumed is given, else assumed.
absl::StatusOr<Rates> RatesFor(const Cluster& cluster, const CommandLine& line);

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_LOAD_CLUSTER_H_
