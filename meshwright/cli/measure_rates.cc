#include "meshwright/cli/measure_rates.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/profile/database.h"

namespace meshwright {

absl::StatusOr<Rates> MeasureRates(Client& client, const Cluster& cluster,
                                   const std::string& database,
                                   const CalibrateOptions& options) {
  MW_ASSIGN_OR_RETURN(Calibration made, Calibrate(client, cluster, options));
  const ProfileEntry entry{
      .key = KeyOf(cluster),
      .measured = absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::Now(),
                                   absl::UTCTimeZone()),
      .platform =
          absl::StrCat(client.platform_name(), " ", client.platform_version()),
      .rates = made.rates};
  const auto open = ProfileDatabase::Open(database);
  if (open.ok()) (*open)->Store(entry, made.samples).IgnoreError();
  return std::move(made.rates);
}

}  // namespace meshwright
