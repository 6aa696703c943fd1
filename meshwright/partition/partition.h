// The SPMD partitioner: a step for one device and shardings of its tensors on a
// mesh -> one program that every device of the mesh runs, with explicit
// collectives.
//
//   MW_ASSIGN_OR_RETURN(Mesh mesh, Mesh::Parse("data=4,model=2"));
//   Pins pins;
//   pins.parameters = {...};       // By parameter; absent: replicated.
//   MW_ASSIGN_OR_RETURN(Partitioned split, Partition(module, mesh, pins));
//   split.module;                  // Compile for mesh.device_count() replicas.
//
// The results equal those of the original module on one device, up to the order
// of floating-point sums.
#ifndef MESHWRIGHT_PARTITION_PARTITION_H_
#define MESHWRIGHT_PARTITION_PARTITION_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/hlo/module.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/partition/assignment.h"
#include "meshwright/partition/complete.h"
#include "meshwright/partition/dropout_ties.h"
#include "meshwright/reshard/prices.h"

namespace meshwright {

// All-reduces are combined up to this size: larger ones gain nothing, and start
// later.
inline constexpr int64_t kMaxCombinedBytes = int64_t{32} << 20;

// A collective of the program.
struct Collective {
  std::string kind;     // "all-reduce"
  std::string axes;     // "data", "(data,model)"; "-" between arbitrary pairs.
  std::string tensor;   // The instruction of the original module it is for.
  int64_t devices = 1;  // In a replica group.
  int64_t bytes = 0;    // Per execution, of the operand on one device.
  double wire_bytes = 0;  // Per execution, sent by a device.
  double count = 1;       // Times per step.
};

struct Partitioned {
  Module module;
  Mesh mesh;
  // By leaf array of the parameters, and of the root.
  std::vector<Sharding> parameters;
  std::vector<Sharding> outputs;
  std::vector<Collective> collectives;
  // Instructions without a sharding rule: their operands are gathered, and
  // every device computes them whole.
  std::vector<std::string> fallbacks;
  std::vector<std::string> notes;  // For the user, one line each.
};

// Propagates the pins (complete.h) and lowers. kInvalidArgument, naming the
// tensor, if a pin does not fit; or the instruction, if the module contains
// something that cannot be partitioned. Requires: `module` passed Verify.
absl::StatusOr<Partitioned> Partition(const Module& module, const Mesh& mesh,
                                      Pins pins, const Prices& prices = {},
                                      DropoutTies* ties = nullptr);

// Lowers given strategies. Programs that belong together, such as those of the
// stages of a pipeline, share `ties`. Requires: `graph` is Flatten(module);
// strategies are valid for their rules.
absl::StatusOr<Partitioned> PartitionAs(const Module& module, const Mesh& mesh,
                                        const FlatGraph& graph,
                                        const Assignment& assignment,
                                        Resharder& resharder,
                                        DropoutTies* ties = nullptr);

}  // namespace meshwright

#endif  // MESHWRIGHT_PARTITION_PARTITION_H_
