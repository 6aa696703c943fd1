// A step with islands (rules/island.h), in which nothing else is split.
#ifndef MESHWRIGHT_PARTITION_ISLANDS_ONLY_H_
#define MESHWRIGHT_PARTITION_ISLANDS_ONLY_H_

#include "absl/status/statusor.h"
#include "meshwright/hlo/module.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/partition/partition.h"

namespace meshwright {

// Every device computes all of the step but its islands, which do not run on
// one: what a plan is compared with. On `mesh`, if the islands' own mesh does
// not have the axes of all of them.
absl::StatusOr<Partitioned> PartitionIslandsOnly(const Module& module,
                                                 const Mesh& mesh);

}  // namespace meshwright

#endif  // MESHWRIGHT_PARTITION_ISLANDS_ONLY_H_
