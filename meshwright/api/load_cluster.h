// Clusters as users name them, and the rates of their devices and links.
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
// The text of a file, or a spec. Messages about it begin with "cluster".
absl::StatusOr<Cluster> ParseClusterText(const std::string& text);

struct RatesOptions {
  std::optional<std::string> database;  // Default: the user's own.
  bool assumed = false;                 // Ignores calibrated rates.
};
// Calibrated rates if there are any, otherwise assumed ones.
absl::StatusOr<Rates> RatesFor(const Cluster& cluster,
                               const RatesOptions& options = {});

// Checks that a database named by the user exists and is one.
absl::Status CheckDatabase(const std::string& path);

}  // namespace meshwright

#endif  // MESHWRIGHT_API_LOAD_CLUSTER_H_
