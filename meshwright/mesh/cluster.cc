#include "meshwright/mesh/cluster.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "meshwright/base/bad.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/base/units.h"
#include "meshwright/mesh/link_words.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/mesh/speed_factor.h"

namespace meshwright {
namespace {

bool IsPositive(double value) { return std::isfinite(value) && value > 0; }

// "hosts[1] (10.0.0.2:7070)"
std::string NameOf(const Cluster& cluster, size_t host) {
  const std::string& address = cluster.hosts[host].address;
  const std::string place = absl::StrCat("hosts[", host, "]");
  return address.empty() ? place : absl::StrCat(place, " (", address, ")");
}

absl::Status CheckLocalIds(const Cluster& cluster, size_t index) {
  const Host& host = cluster.hosts[index];
  if (host.local_ids.empty()) return absl::OkStatus();
  std::set<int64_t> seen;
  for (const int64_t id : host.local_ids) {
    if (id < 0 || !seen.insert(id).second) {
      return Bad(NameOf(cluster, index), " lists device ", id,
                 id < 0 ? "; numbers start at 0" : " twice");
    }
  }
  if (std::ssize(host.local_ids) != host.devices) {
    return Bad(NameOf(cluster, index), " has ", host.devices,
               " devices but lists ", host.local_ids.size());
  }
  return absl::OkStatus();
}

absl::Status CheckLevel(const LinkLevel& level, const LinkLevel* below) {
  const int64_t inner = below == nullptr ? 1 : below->devices;
  if (!IsPositive(level.gbps)) {
    return Bad("link \"", level.name, "\": gbps must be above 0");
  }
  if (!std::isfinite(level.us) || level.us < 0) {
    return Bad("link \"", level.name, "\": us must be 0 or more");
  }
  if (!(level.oversubscription >= 1 && level.oversubscription <= kMostTimes)) {
    return Bad("link \"", level.name, "\": oversubscription must be 1 to ",
               kMostTimes, ", not ", level.oversubscription);
  }
  if (level.devices < inner || level.devices % inner != 0) {
    return Bad("link \"", level.name, "\" joins ", level.devices,
               " devices, no multiple of the ", inner, " that \"",
               below == nullptr ? "device" : below->name, "\" joins");
  }
  if (level.port_devices < 1 || inner % level.port_devices != 0) {
    return Bad("link \"", level.name, "\": ports of ", level.port_devices,
               " devices do not divide blocks of ", inner);
  }
  return absl::OkStatus();
}

absl::Status CheckLevels(const Cluster& cluster) {
  if (cluster.levels.empty()) return Bad("there are no links");
  std::set<std::string> names;
  for (size_t i = 0; i < cluster.levels.size(); ++i) {
    const LinkLevel& level = cluster.levels[i];
    MW_RETURN_IF_ERROR(
        CheckLevel(level, i == 0 ? nullptr : &cluster.levels[i - 1]));
    if (!names.insert(level.name).second) {
      return Bad("link \"", level.name, "\" is given twice");
    }
  }
  const LinkLevel& last = cluster.levels.back();
  if (last.devices != cluster.device_count()) {
    return Bad("the outermost link, \"", last.name, "\", joins ", last.devices,
               " of ", cluster.device_count(), " devices");
  }
  return absl::OkStatus();
}

absl::Status CheckModel(const DeviceModel& device) {
  for (const TflopsField& field : TflopsFields()) {
    if (!IsPositive(device.tflops.*field.member)) {
      return Bad("device: tflops of ", field.name, " must be above 0");
    }
  }
  if (device.memory_bytes < 1) return Bad("device: memory must be above 0");
  if (!IsPositive(device.memory_gbps)) {
    return Bad("device: memory_gbps must be above 0");
  }
  return absl::OkStatus();
}

absl::Status CheckDevice(const Cluster& cluster) {
  MW_RETURN_IF_ERROR(CheckModel(cluster.device));
  for (const DeviceModel& model : cluster.models) {
    MW_RETURN_IF_ERROR(CheckModel(model));
    if ((model.kind == "cpu") != (cluster.models[0].kind == "cpu")) {
      return Bad("hosts of ", cluster.models[0].kind, " and of ", model.kind,
                 " cannot be one cluster");
    }
  }
  if (cluster.shared_host && cluster.hosts.size() != 1) {
    return Bad("devices that share a host are on one host, not on ",
               cluster.hosts.size());
  }
  if (cluster.shared_host != (cluster.cores > 0) || cluster.cores < 0) {
    return Bad("cores must be above 0 for a shared host, and only then");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckHosts(const Cluster& cluster) {
  if (cluster.hosts.empty()) return Bad("there are no hosts");
  absl::flat_hash_map<std::string, size_t> addresses;
  for (size_t i = 0; i < cluster.hosts.size(); ++i) {
    const Host& host = cluster.hosts[i];
    if (host.devices < 1 || host.devices > kMaxMeshDevices) {
      return Bad(NameOf(cluster, i), " has ", host.devices,
                 " devices; there are 1 to 2^20");
    }
    if (host.devices != cluster.hosts[0].devices) {
      return Bad(NameOf(cluster, i), " has ", host.devices, " devices, ",
                 NameOf(cluster, 0), " has ", cluster.hosts[0].devices,
                 "; all hosts must have equally many");
    }
    MW_RETURN_IF_ERROR(CheckLocalIds(cluster, i));
    if (!IsFactor(host.link_speed)) {
      return Bad(NameOf(cluster, i), ": link_speed must be ", 1 / kMostTimes,
                 " to ", kMostTimes, ", not ", host.link_speed);
    }
    if (host.address.empty()) continue;
    const auto [other, is_new] = addresses.try_emplace(host.address, i);
    if (!is_new) {
      return Bad("hosts[", other->second, "] and hosts[", i,
                 "] have the same address ", host.address);
    }
  }
  if (cluster.hosts[0].devices > kMaxMeshDevices / std::ssize(cluster.hosts)) {
    return Bad("there are more than 2^20 devices");
  }
  return absl::OkStatus();
}

absl::Status Check(const Cluster& cluster) {
  MW_RETURN_IF_ERROR(CheckHosts(cluster));
  MW_RETURN_IF_ERROR(CheckLevels(cluster));
  return CheckDevice(cluster);
}

bool Cluster::IsUneven() const {
  return !models.empty() || std::ranges::any_of(hosts, [&](const Host& host) {
    return host.link_speed != hosts[0].link_speed;
  });
}

DeviceModel LeastOf(absl::Span<const DeviceModel> models) {
  DeviceModel least = models[0];
  for (const DeviceModel& model : models) {
    // Named after the device with the lowest FLOP/s.
    if (model.tflops.bf16 < least.tflops.bf16) least.kind = model.kind;
    for (const TflopsField& field : TflopsFields()) {
      least.tflops.*field.member =
          std::min(least.tflops.*field.member, model.tflops.*field.member);
    }
    least.memory_bytes = std::min(least.memory_bytes, model.memory_bytes);
    least.memory_gbps = std::min(least.memory_gbps, model.memory_gbps);
  }
  return least;
}

absl::Span<const Host> HostsOf(const Cluster& cluster, int64_t first_device,
                               int64_t count) {
  const int64_t per_host = cluster.devices_per_host();
  const int64_t first = first_device / per_host;
  const int64_t end = (first_device + count + per_host - 1) / per_host;
  return absl::MakeConstSpan(cluster.hosts)
      .subspan(static_cast<size_t>(first), static_cast<size_t>(end - first));
}

double LinkSpeedOf(absl::Span<const Host> hosts) {
  return std::ranges::min(hosts, {}, &Host::link_speed).link_speed;
}

std::string Cluster::ToString() const {
  std::string text = absl::StrFormat(
      "%s x %d %s, %s", Counted(std::ssize(hosts), "host"), devices_per_host(),
      models.empty() ? device.kind : "devices",
      models.empty() ? FormatBytes(device.memory_bytes) : HostsInWords(*this));
  if (shared_host) absl::StrAppend(&text, ", sharing ", cores, " cores");
  for (size_t i = 0; i < levels.size(); ++i) {
    if (!JoinsMore(*this, i)) continue;
    absl::StrAppend(&text, "; ", levels[i].name, ": ", SpeedOf(*this, i), ", ",
                    levels[i].us, " us");
  }
  return text;
}

}  // namespace meshwright
