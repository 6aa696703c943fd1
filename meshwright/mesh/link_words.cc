#include "meshwright/mesh/link_words.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace meshwright {
namespace {

// Part of the usual speed of a link below which a user should know.
constexpr double kUnusual = 0.5;

}  // namespace

bool JoinsMore(const Cluster& cluster, size_t level) {
  const int64_t below = level == 0 ? 1 : cluster.levels[level - 1].devices;
  return cluster.levels[level].devices > below;
}

std::string SpeedOf(const Cluster& cluster, size_t level) {
  const std::vector<LinkLevel>& levels = cluster.levels;
  const int64_t port = levels[level].port_devices;
  std::string text = absl::StrCat(levels[level].gbps, " Gbit/s per ");
  if (port == 1) return absl::StrCat(text, "device");
  for (size_t i = 0; i < level; ++i) {
    if (levels[i].devices != port) continue;
    return absl::StrCat(text, levels[i].name, ", shared by its ", port,
                        " devices");
  }
  return absl::StrCat(text, port, " devices, shared by them");
}

std::vector<std::string> UnusualLinks(const Cluster& cluster) {
  std::vector<std::string> notes;
  const DeviceKind* const kind = FindDeviceKind(cluster.device.kind);
  if (cluster.shared_host || kind == nullptr) return notes;
  for (size_t i = 0; i < cluster.levels.size(); ++i) {
    const LinkLevel& level = cluster.levels[i];
    const bool is_host = level.name == "host";
    if ((!is_host && level.name != "cluster") || !JoinsMore(cluster, i)) {
      continue;
    }
    const UsualLink& usual = is_host ? kind->host : kind->cluster;
    const int64_t sharing =
        usual.per_device || is_host ? 1 : cluster.devices_per_host();
    const double has = level.gbps / static_cast<double>(level.port_devices);
    const double wants = usual.gbps / static_cast<double>(sharing);
    if (has >= kUnusual * wants && wants >= kUnusual * has) continue;
    std::string note = absl::StrFormat(
        "link \"%s\": %s, that is %.4g for each %s; usual are %.4g", level.name,
        SpeedOf(cluster, i), has, kind->name, wants);
    if (level.port_devices > 1 && level.gbps >= kUnusual * wants &&
        wants >= kUnusual * level.gbps) {
      absl::StrAppend(&note, " (if ", level.gbps,
                      " is what one device has, write \"per\": \"device\")");
    }
    notes.push_back(std::move(note));
  }
  return notes;
}

}  // namespace meshwright
