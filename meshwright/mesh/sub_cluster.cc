#include "meshwright/mesh/sub_cluster.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"

namespace meshwright {
namespace {

// Keeps only the models of the remaining hosts.
void DropModels(Cluster& cluster) {
  std::vector<DeviceModel> models;
  for (Host& host : cluster.hosts) {
    const DeviceModel model = cluster.ModelOf(host);
    const auto found = std::ranges::find(models, model);
    host.model = static_cast<int32_t>(found - models.begin());
    if (found == models.end()) models.push_back(model);
  }
  cluster.device = LeastOf(models);
  cluster.models.clear();
  if (models.size() > 1) cluster.models = std::move(models);
}

}  // namespace

absl::StatusOr<Cluster> FirstDevices(const Cluster& cluster, int64_t devices) {
  const int64_t present = cluster.device_count();
  const int64_t per_host = cluster.devices_per_host();
  if (devices < 1 || devices > present) {
    return absl::InvalidArgumentError(absl::StrCat(
        devices, " devices are no part of the cluster's ", present));
  }
  Cluster part = cluster;
  if (devices < per_host) {
    part.hosts.resize(1);
    part.hosts[0].devices = devices;
    if (!part.hosts[0].local_ids.empty()) {
      part.hosts[0].local_ids.resize(static_cast<size_t>(devices));
    }
  } else if (devices % per_host != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(devices, " devices are not whole hosts of ", per_host));
  } else {
    part.hosts.resize(static_cast<size_t>(devices / per_host));
  }
  for (LinkLevel& level : part.levels) {
    if (devices > level.devices && devices % level.devices != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(devices, " devices are not whole blocks of link \"",
                       level.name, "\", which joins ", level.devices));
    }
    level.devices = std::min(level.devices, devices);
    level.port_devices = std::min(level.port_devices, devices);
  }
  DropModels(part);
  MW_RETURN_IF_ERROR(Check(part));
  return part;
}

}  // namespace meshwright
