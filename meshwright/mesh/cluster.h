// The machines a plan is for: hosts with devices, the links between them, and
// the capabilities of a device.
//
//   MW_ASSIGN_OR_RETURN(Cluster cluster, ParseCluster(text));
//   cluster.device_count();   // 16
//   cluster.ToString();       // "2 hosts x 8 h200, 141 GiB; host 3600 ..."
//
// Devices are numbered host by host. Links form a tree: a level joins blocks of
// consecutive devices, which are blocks of the level below it.
//
//   level      joins    gbps   port_devices
//   host       8        3600   1    each device sends at 3600 Gbit/s
//   cluster    16       400    8    the 8 of a host share 400 Gbit/s outwards
//
// Levels that join hosts are one network: traffic over an outer one leaves
// through the ports of the inner ones, too. Levels inside a host are separate.
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
  // The host's own device numbers; empty: 0, 1, ...
  std::vector<int64_t> local_ids;
  int32_t model = 0;  // Into Cluster::models, if that is not empty.
  // The share of the full speed that its network ports have.
  double link_speed = 1;

  bool operator==(const Host&) const = default;
};

struct LinkLevel {
  std::string name;
  int64_t devices = 1;  // In a block of this level.
  double gbps = 0;      // 10^9 bits per second out of one port, one direction.
  double us = 0;        // Per message.
  // Consecutive devices that share a port. A level's traffic leaves a block of
  // the level below through the ports of its devices.
  int64_t port_devices = 1;
  // The factor by which each port is slower while all ports send: 4 if switches
  // have a quarter of the uplink bandwidth that they have downwards.
  double oversubscription = 1;

  // While all ports send.
  double BytesPerSecond() const { return gbps * 1e9 / 8 / oversubscription; }
  double LatencySeconds() const { return us * 1e-6; }
  bool operator==(const LinkLevel&) const = default;
};

// A device; `kind` is a name of the table of kinds, whose figures it may
// override.
struct DeviceModel {
  std::string kind;
  Tflops tflops;
  int64_t memory_bytes = 0;
  double memory_gbps = 0;  // 10^9 bytes per second.

  bool operator==(const DeviceModel&) const = default;
};

struct Cluster {
  // What every device is capable of; if hosts differ, what the slowest is.
  DeviceModel device;
  std::vector<Host> hosts;  // All with the same number of devices.
  // Innermost first; the last joins all devices.
  std::vector<LinkLevel> levels;
  // The devices are virtual: they share the cores and memory of one machine,
  // and `device` is the share of each while all are busy. Replicated work then
  // takes as long as if it were done sequentially.
  bool shared_host = false;
  int64_t cores = 0;  // Of that machine; 0 if not shared.
  // If hosts differ: at least two device models. Otherwise empty.
  std::vector<DeviceModel> models;
  // Assumptions made when the file was read, one line each.
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

// The minimum of each capability. Requires: at least one model.
DeviceModel LeastOf(absl::Span<const DeviceModel> models);

// The hosts of `count` devices starting at `first_device`.
absl::Span<const Host> HostsOf(const Cluster& cluster, int64_t first_device,
                               int64_t count);
// The link speed of the slowest of these.
double LinkSpeedOf(absl::Span<const Host> hosts);

// kInvalidArgument, naming the culprit, unless: there are 1 to 2^20 devices;
// hosts are of equal size and have different addresses, their local ids are
// distinct and as many as devices; level sizes increase, each a multiple of the
// one below, and the last is all devices; ports divide blocks of the level
// below; rates and sizes are positive; hosts that differ are not virtual.
absl::Status Check(const Cluster& cluster);
absl::Status CheckHosts(const Cluster& cluster);  // The part about hosts.

}  // namespace meshwright

#endif  // MESHWRIGHT_MESH_CLUSTER_H_
