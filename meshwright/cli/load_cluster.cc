#include "meshwright/cli/load_cluster.h"

#include <unistd.h>

#include <algorithm>
#include <thread>

#include "meshwright/base/annotate.h"
#include "meshwright/base/file.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/mesh/cluster_file.h"
#include "meshwright/profile/database.h"

namespace meshwright {
namespace {

Machine ThisMachine() {
  Machine machine;
  machine.cores = std::max<int64_t>(1, std::thread::hardware_concurrency());
  machine.memory_bytes = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) *
                         static_cast<int64_t>(sysconf(_SC_PAGE_SIZE));
  return machine;
}

}  // namespace

absl::StatusOr<Cluster> LoadCluster(const std::string& text) {
  if (IsClusterSpec(text)) return ParseClusterSpec(text, ThisMachine());
  MW_ASSIGN_OR_RETURN(const std::string json, ReadFile(text));
  absl::StatusOr<Cluster> cluster = ParseCluster(json);
  if (!cluster.ok()) return Annotate(cluster.status(), text);
  return cluster;
}

absl::StatusOr<Rates> RatesFor(const Cluster& cluster,
                               const CommandLine& line) {
  if (line.Has("assumed")) return AssumedRates(cluster);
  return LoadRates(line.Text("database", DefaultProfilePath()), cluster);
}

}  // namespace meshwright
