// Clusters as text: JSON files, and short forms for the command line.
//
//   {"device": {"kind": "h200", "memory_gib": 141},
//    "hosts": [{"address": "10.0.0.1:7070", "devices": 8},
//              {"address": "10.0.0.2:7070", "devices": 8}],
//    "links": {"host": {"gbps": 3600, "us": 3},
//              "cluster": {"gbps": 400, "us": 8, "per": "device"}}}
//
// device   "kind", and what differs from it: "memory_gib", "memory_gbps" (10^9
//          bytes per second), "tflops" {"f64", "f32", "tf32", "bf16", "f16",
//          "f8", "s8"}; "speed": 0.8 for one that is slower than its kind.
// hosts    "devices" is a number or a list of the host's own device numbers;
//          "count": 16 stands for that many such hosts without addresses.
//          Hosts that differ have a "device" of their own, and "link_speed":
//          0.5 where their ports to other hosts have half of their speed.
// links    "host" joins the devices of a host, "cluster" all hosts. Further
//          levels carry their size: "pod": {"hosts": 4} joins every four hosts
//          in order, "pair": {"devices": 2} every two devices of a host; the
//          one level without a size is the outermost. "gbps" (10^9 bits per
//          second, one direction) is what one block of the level below can
//          send: a device within its host, a host within the cluster. With
//          "per": "device", or "host" or another level's name, every one of
//          these has a port of its own. "oversubscription": 4 is what a port
//          loses while all send. Levels and values left out are those
//          usual for the kind.
// shared_host, cores   true and the number of cores: virtual devices.
//
// TePDist's form: {"master": {"ip", "port", "gpu_ids": "0,1"}, "workers":
// [...]}
// ("slaves" too); "device" and "links" may be added.
#ifndef MESHWRIGHT_MESH_CLUSTER_FILE_H_
#define MESHWRIGHT_MESH_CLUSTER_FILE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "meshwright/mesh/cluster.h"

namespace meshwright {

// kInvalidArgument in one line that names the culprit. The result passes Check.
absl::StatusOr<Cluster> ParseCluster(absl::string_view json);

// The machine that virtual devices share.
struct Machine {
  int64_t cores = 1;
  int64_t memory_bytes = 0;
};

// "cpu:8": eight virtual devices of `machine`. "h200:8": a host of eight;
// "h200:4x8": four of them, with the kind's usual links.
absl::StatusOr<Cluster> ParseClusterSpec(absl::string_view spec,
                                         const Machine& machine);
// Whether `text` has the form of a spec, whether or not its kind is known.
bool IsClusterSpec(absl::string_view text);

// With every value explicit; ParseCluster is the inverse, except for warnings.
std::string ToJson(const Cluster& cluster);

}  // namespace meshwright

#endif  // MESHWRIGHT_MESH_CLUSTER_FILE_H_
