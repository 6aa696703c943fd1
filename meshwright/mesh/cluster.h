// The machines a plan is for: hosts with devices, the links between them, and
// what one device can do.
//
//   MW_ASSIGN_OR_RETURN(Cluster cluster, ParseCluster(text));  //
//   cluster_file.h cluster.device_count(); // 16 cluster.ToString();    // "2
//   hosts x 8 h200, 141 GiB; host 3600 Gbit/s ..."
//
// Devices are numbered host by host. Links form a tree: a level joins blocks of
// consecutive devices, blocks of the level below it.
//
//   level      joins    gbps   port_devices
//   host       8        3600   1    a device sends at 3600 Gbit/s in its host
//   cluster    16       400    8    the 8 of a host share 400 Gbit/s outwards
//
// Levels that join hosts are one network: what goes over an outer one leaves
// through the ports of the inner ones, too. Those inside a host are apart.
#ifndef MESHWRIGHT_MESH_CLUSTER_H_
#define MESHWRIGHT_MESH_CLUSTER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "meshwright/mesh/device_kind.h"

namespace meshwright {

struct Host {
  std::string address;  // "10.0.0.1:7070"; may be empty.
  int64_t devices = 1;
  // The host's own numbers of them; empty is 0, 1, ...
  std::vector<int64_t> local_ids;
  int32_t model = 0;      // Into Cluster::models, where there are some.
  double link_speed = 1;  // Part of their speed that its ports outwards have.

  bool operator==(const Host&) const = default;
};

struct LinkLevel {
  std::string name;
  int64_t devices = 1;  // That one block joins.
  double gbps = 0;      // 10^9 bits per second out of one port, one direction.
  double us = 0;        // Of one message.
  // Consecutive devices behind one port. A level's traffic leaves a block of
  // the level below through the ports of its devices.
  int64_t port_devices = 1;
  // While all ports send, each gets one part in so many of its speed: 4 where
  // switches have a quarter of the links upwards that they have downwards.
  double oversubscription = 1;

  // While all ports send.
  double BytesPerSecond() const { return gbps * 1e9 / 8 / oversubscription; }
  double LatencySeconds() const { return us * 1e-6; }
  bool operator==(const LinkLevel&) const = default;
};

// One device; `kind` is a name of the table, the figures may differ from it.
struct DeviceModel {
  std::string kind;
  Tflops tflops;
  int64_t memory_bytes = 0;
  double memory_gbps = 0;  // 10^9 bytes per second.

  bool operator==(const DeviceModel&) const = default;
};

struct Cluster {
  // Every device can do this much; where hosts differ, what the slowest can.
  DeviceModel device;
  std::vector<Host> hosts;        // All with equally many devices.
  std::vector<LinkLevel> levels;  // Innermost first; the last joins all.
  // The devices are virtual: they share the cores and the memory of one
  // machine, and `device` is the part of each when all are busy. Work that is
  // repeated on every device then takes as long as if it were done in turn.
  bool shared_host = false;
  int64_t cores = 0;  // Of that machine; 0 when not shared.
  // Of hosts that differ: their devices, at least two. Else none.
  std::vector<DeviceModel> models;
  // What was taken for granted in reading, a line each.
  std::vector<std::string> warnings;

  int64_t devices_per_host() const {
    return hosts.empty() ? 0 : hosts[0].devices;
  }
  int64_t device_count() const {
    return devices_per_host() * static_cast<int64_t>(hosts.size());
  }
  // Whether the level joins hosts.
  bool IsNetwork(const LinkLevel& level) const {
    return level.devices > devices_per_host();
  }
  // Whether hosts differ in devices or links.
  bool IsUneven() const;
  const DeviceModel& ModelOf(const Host& host) const {
    return models.empty() ? device : models[host.model];
  }
  bool IsCpu() const { return shared_host || device.kind == "cpu"; }
  std::string ToString() const;  // One line.

  bool operator==(const Cluster&) const = default;
};

// What each of these can do: of everything the least.
// Requires: there is one.
DeviceModel LeastOf(absl::Span<const DeviceModel> models);

// The hosts that have some of `count` devices from `first_device` on.
absl::Span<const Host> HostsOf(const Cluster& cluster, int64_t first_device,
                               int64_t count);
// The part of their speed that links outwards have at the slowest of these.
double LinkSpeedOf(absl::Span<const Host> hosts);

// kInvalidArgument, naming the culprit, unless: there are 1 to 2^20 devices;
// hosts are of equal size and have different addresses, their local ids are
// distinct and as many as devices; level sizes grow, each a multiple of the one
// below, and end at all devices; ports divide blocks of the level below; rates
// and sizes are positive; hosts that differ are no virtual ones.
absl::Status Check(const Cluster& cluster);
absl::Status CheckHosts(const Cluster& cluster);  // The part about hosts.

}  // namespace meshwright

#endif  // MESHWRIGHT_MESH_CLUSTER_H_
