// The "links" of a cluster file; see cluster_file.h for its form.
#ifndef MESHWRIGHT_MESH_CLUSTER_LINKS_H_
#define MESHWRIGHT_MESH_CLUSTER_LINKS_H_

#include "absl/status/status.h"
#include "meshwright/mesh/cluster.h"
#include "meshwright/mesh/cluster_json.h"

namespace meshwright::internal {

// Sets the levels of `cluster`, whose device and hosts are set (but not
// checked). What is left out comes from the table of kinds.
absl::Status ReadLinks(const Json& links, Cluster& cluster);

Json WriteLinks(const Cluster& cluster);

}  // namespace meshwright::internal

#endif  // MESHWRIGHT_MESH_CLUSTER_LINKS_H_
