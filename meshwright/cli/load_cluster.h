// Clusters and rates named on the command line.
#ifndef MESHWRIGHT_CLI_LOAD_CLUSTER_H_
#define MESHWRIGHT_CLI_LOAD_CLUSTER_H_

#include <string>

#include "absl/status/status.h"
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

// Whether a database that the user named is there and is one; else what it is.
absl::Status CheckDatabase(const std::string& path);

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_LOAD_CLUSTER_H_
