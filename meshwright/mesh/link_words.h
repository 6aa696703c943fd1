// The links of a cluster in words, for the author of its file.
#ifndef MESHWRIGHT_MESH_LINK_WORDS_H_
#define MESHWRIGHT_MESH_LINK_WORDS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "meshwright/mesh/cluster.h"

namespace meshwright {

// Whether a level joins more devices than the one below it: "cluster" of a
// single host does not.
bool JoinsMore(const Cluster& cluster, size_t level);

// "400 Gbit/s per host, shared by its 8 devices"
std::string SpeedOf(const Cluster& cluster, size_t level);

// For hosts that differ: "8 of h200 (141 GiB, 989 TFLOP/s), 8 of a100-80 (80.0
// GiB, 312 TFLOP/s)", in bf16.
std::string HostsInWords(const Cluster& cluster);

// A line for each link that gives a device less than half or more than twice
// what is usual for its kind.
std::vector<std::string> UnusualLinks(const Cluster& cluster);

}  // namespace meshwright

#endif  // MESHWRIGHT_MESH_LINK_WORDS_H_
