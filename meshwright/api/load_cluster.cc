#include "meshwright/api/load_cluster.h"

#include <unistd.h>

#include <algorithm>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "meshwright/api/file_kind.h"
#include "meshwright/base/file.h"
#include "meshwright/base/nearest_word.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/mesh/cluster_file.h"
#include "meshwright/mesh/device_kind.h"
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

std::string Examples(const std::string& kind) {
  return kind == "cpu" ? "cpu:8 (eight virtual devices of this machine)"
                       : absl::StrCat(kind, ":8 (a host of eight) or ", kind,
                                      ":4x8 (four of them)");
}

// Neither a file nor KIND:DEVICES.
absl::Status NoCluster(const std::string& text) {
  const std::vector<std::string> kinds = KnownDeviceKinds();
  if (FindDeviceKind(text) != nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("cluster ", text, " does not say how many devices; write ",
                     Examples(text)));
  }
  const std::string kind = text.substr(0, text.find_first_of(":x"));
  const std::string nearest =
      FindDeviceKind(kind) != nullptr ? kind : NearestWord(kind, kinds);
  return absl::InvalidArgumentError(absl::StrCat(
      "cluster ", text, ": there is no such file, and it is not ",
      "KIND:DEVICES; write ", Examples(nearest.empty() ? "h200" : nearest),
      "; kinds are ", absl::StrJoin(kinds, ", ")));
}

}  // namespace

absl::StatusOr<Cluster> LoadCluster(const std::string& text) {
  if (IsClusterSpec(text)) return ParseClusterSpec(text, ThisMachine());
  const absl::StatusOr<std::string> json = ReadFile(text);
  if (absl::IsNotFound(json.status())) return NoCluster(text);
  MW_RETURN_IF_ERROR(json.status());
  absl::StatusOr<Cluster> cluster = ParseCluster(*json);
  if (cluster.ok()) return cluster;
  return ExplainContent(cluster.status(), text, *json, FileKind::kCluster);
}

absl::StatusOr<Cluster> ParseClusterText(const std::string& text) {
  if (IsClusterSpec(text)) return ParseClusterSpec(text, ThisMachine());
  absl::StatusOr<Cluster> cluster = ParseCluster(text);
  if (cluster.ok()) return cluster;
  return ExplainContent(cluster.status(), "cluster", text, FileKind::kCluster);
}

absl::StatusOr<Rates> RatesFor(const Cluster& cluster,
                               const RatesOptions& options) {
  // What was measured is of hosts that are alike.
  if (options.assumed || cluster.IsUneven()) return AssumedRates(cluster);
  if (!options.database.has_value()) {
    return LoadRates(DefaultProfilePath(), cluster);
  }
  MW_RETURN_IF_ERROR(CheckDatabase(*options.database));
  return LoadRates(*options.database, cluster);
}

absl::Status CheckDatabase(const std::string& path) {
  const absl::Status opened =
      ProfileDatabase::Open(path, /*read_only=*/true).status();
  if (absl::IsNotFound(opened)) {
    return absl::NotFoundError(absl::StrCat(
        path, ": no such file; meshwright profile --calibrate --database ",
        path, " makes it"));
  }
  if (opened.ok()) return opened;
  MW_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
  if (ContentOf(bytes).kind == FileKind::kDatabase || bytes.empty()) {
    return opened;
  }
  return ExplainContent(opened, path, bytes, FileKind::kDatabase);
}

}  // namespace meshwright
