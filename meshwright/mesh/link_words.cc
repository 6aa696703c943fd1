#include "meshwright/mesh/link_words.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/units.h"

namespace meshwright {
namespace {

// Relative to the usual speed of a link: below this, the user should be told.
constexpr double kUnusual = 0.5;

}  // namespace

bool JoinsMore(const Cluster& cluster, size_t level) {
  const int64_t below = level == 0 ? 1 : cluster.levels[level - 1].devices;
  return cluster.levels[level].devices > below;
}

namespace {

// "400 Gbit/s per host, shared by its 8 devices"
std::string PortSpeed(const Cluster& cluster, size_t level) {
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

}  // namespace

std::string SpeedOf(const Cluster& cluster, size_t level) {
  std::string text = PortSpeed(cluster, level);
  const double times = cluster.levels[level].oversubscription;
  if (times > 1) absl::StrAppend(&text, ", ", times, " : 1 oversubscribed");
  return text;
}

std::string HostsInWords(const Cluster& cluster) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < cluster.models.size(); ++i) {
    const DeviceModel& model = cluster.models[i];
    const auto count = std::ranges::count(
        cluster.hosts, static_cast<int32_t>(i), &Host::model);
    parts.push_back(absl::StrCat(count, " of ", model.kind, " (",
                                 FormatBytes(model.memory_bytes), ", ",
                                 model.tflops.bf16, " TFLOP/s)"));
  }
  return absl::StrJoin(parts, ", ");
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
    const double has = level.gbps / level.oversubscription /
                       static_cast<double>(level.port_devices);
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
