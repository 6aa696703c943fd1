// A step partitioned in its islands (rules/island.h) only.
#ifndef MESHWRIGHT_PARTITION_ISLANDS_ONLY_H_
#define MESHWRIGHT_PARTITION_ISLANDS_ONLY_H_

#include "absl/status/statusor.h"
#include "meshwright/hlo/module.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/partition/partition.h"

namespace meshwright {

// The reference that a plan is compared with: every device computes the whole
// step except the islands, which cannot run on one device. Uses `mesh` if the
// islands' own mesh does not have the axes of all of them.
absl::StatusOr<Partitioned> PartitionIslandsOnly(const Module& module,
                                                 const Mesh& mesh);

}  // namespace meshwright

#endif  // MESHWRIGHT_PARTITION_ISLANDS_ONLY_H_
