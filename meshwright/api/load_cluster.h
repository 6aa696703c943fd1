// Clusters as users name them, and what is known of their speed.
#ifndef MESHWRIGHT_API_LOAD_CLUSTER_H_
#define MESHWRIGHT_API_LOAD_CLUSTER_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "meshwright/cost/rates.h"
#include "meshwright/mesh/cluster.h"

namespace meshwright {

// A file, or a spec such as "cpu:8".
absl::StatusOr<Cluster> LoadCluster(const std::string& text);
// The text of a file, or a spec. What is said of it begins with "cluster".
absl::StatusOr<Cluster> ParseClusterText(const std::string& text);

struct RatesOptions {
  std::optional<std::string> database;  // Else the user's.
  bool assumed = false;                 // Whatever was calibrated.
};
// What devices and links achieve: calibrated where that is known, else assumed.
absl::StatusOr<Rates> RatesFor(const Cluster& cluster,
                               const RatesOptions& options = {});

// Whether a database that the user named is there and is one; else what it is.
absl::Status CheckDatabase(const std::string& path);

}  // namespace meshwright

#endif  // MESHWRIGHT_API_LOAD_CLUSTER_H_
