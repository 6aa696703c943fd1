// Rates of devices: known, or measured here and stored for other commands.
#ifndef MESHWRIGHT_CLI_MEASURE_RATES_H_
#define MESHWRIGHT_CLI_MEASURE_RATES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/cli/command_line.h"
#include "meshwright/cost/rates.h"
#include "meshwright/engine/client.h"
#include "meshwright/mesh/cluster.h"
#include "meshwright/profile/calibrate.h"
#include "meshwright/profile/database.h"

namespace meshwright {

// As --database and --assumed say (RatesFor).
absl::StatusOr<Rates> RatesOf(const Cluster& cluster, const CommandLine& line);

// Calibrates, and prints when and on what.
struct Measured {
  ProfileEntry entry;
  std::vector<Sample> samples;
};
absl::StatusOr<Measured> Measure(Client& client, const Cluster& cluster,
                                 const CalibrateOptions& options);

// On the client's first devices, which are the cluster's. Failure to write the
// database is not an error.
absl::StatusOr<Rates> MeasureRates(Client& client, const Cluster& cluster,
                                   const std::string& database,
                                   const CalibrateOptions& options);

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_MEASURE_RATES_H_
