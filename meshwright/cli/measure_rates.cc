#include "meshwright/cli/measure_rates.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "meshwright/api/load_cluster.h"
#include "meshwright/base/status_macros.h"

namespace meshwright {

absl::StatusOr<Rates> RatesOf(const Cluster& cluster, const CommandLine& line) {
  return RatesFor(cluster, {.database = line.Optional("database"),
                            .assumed = line.Has("assumed")});
}

absl::StatusOr<Measured> Measure(Client& client, const Cluster& cluster,
                                 const CalibrateOptions& options) {
  MW_ASSIGN_OR_RETURN(Calibration made, Calibrate(client, cluster, options));
  return Measured{
      .entry = {.key = KeyOf(cluster),
                .measured = absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::Now(),
                                             absl::UTCTimeZone()),
                .platform = absl::StrCat(client.platform_name(), " ",
                                         client.platform_version()),
                .rates = std::move(made.rates)},
      .samples = std::move(made.samples)};
}

absl::StatusOr<Rates> MeasureRates(Client& client, const Cluster& cluster,
                                   const std::string& database,
                                   const CalibrateOptions& options) {
  MW_ASSIGN_OR_RETURN(Measured made, Measure(client, cluster, options));
  const auto open = ProfileDatabase::Open(database);
  if (open.ok()) (*open)->Store(made.entry, made.samples).IgnoreError();
  return std::move(made.entry.rates);
}

}  // namespace meshwright
