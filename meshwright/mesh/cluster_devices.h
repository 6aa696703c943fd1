// The "device" of a cluster file, or of one of its hosts.
#ifndef MESHWRIGHT_MESH_CLUSTER_DEVICES_H_
#define MESHWRIGHT_MESH_CLUSTER_DEVICES_H_

#include <string>

#include "absl/status/statusor.h"
#include "meshwright/mesh/cluster.h"
#include "meshwright/mesh/cluster_json.h"

namespace meshwright::internal {

absl::StatusOr<const DeviceKind*> KindNamed(const std::string& name);
DeviceModel DeviceOf(const DeviceKind& kind);

// `where` is its name in messages: "hosts[1]: device".
absl::StatusOr<DeviceModel> ParseDevice(const Json& json, std::string where);
Json WriteDevice(const DeviceModel& device);

// Its index among the cluster's models, to which it is added if it is new.
int32_t AddModel(const DeviceModel& model, Cluster& cluster);

}  // namespace meshwright::internal

#endif  // MESHWRIGHT_MESH_CLUSTER_DEVICES_H_
