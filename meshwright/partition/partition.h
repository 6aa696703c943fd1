// A step for one device, and how its tensors lie on a mesh -> one program that
// every device of the mesh runs, with explicit collectives.
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

// All-reduces are combined up to this: larger ones gain nothing and have to
// wait for more.
inline constexpr int64_t kMaxCombinedBytes = int64_t{32} << 20;

// A collective of the program.
struct Collective {
  std::string kind;     // "all-reduce"
  std::string axes;     // "data", "(data,model)"; "-" between arbitrary pairs.
  std::string tensor;   // The instruction of the original module it is for.
  int64_t devices = 1;  // In a group.
  int64_t bytes = 0;    // Of the operand on one device, each time.
  double wire_bytes = 0;  // Sent by a device, each time.
  double count = 1;       // Times per step.
};

struct Partitioned {
  Module module;
  Mesh mesh;
  // By leaf array of the parameters, and of the root.
  std::vector<Sharding> parameters;
  std::vector<Sharding> outputs;
  std::vector<Collective> collectives;
  // Instructions that no rule could split: operands gathered, computed whole on
  // every device.
  std::vector<std::string> fallbacks;
  std::vector<std::string> notes;  // What a user should know, a line each.
};

// Chooses strategies around the pins (complete.h) and lowers.
// kInvalidArgument, naming the tensor, when a pin does not fit; or the
// instruction, when the module holds something that cannot be partitioned.
// Requires: `module` passed Verify.
absl::StatusOr<Partitioned> Partition(const Module& module, const Mesh& mesh,
                                      Pins pins, const Prices& prices = {},
                                      DropoutTies* ties = nullptr);

// Lowers strategies that somebody else chose, valid for their rules.
// Programs that belong together share `ties`.
// Requires: `graph` is Flatten(module).
absl::StatusOr<Partitioned> PartitionAs(const Module& module, const Mesh& mesh,
                                        const FlatGraph& graph,
                                        const Assignment& assignment,
                                        Resharder& resharder,
                                        DropoutTies* ties = nullptr);

}  // namespace meshwright

#endif  // MESHWRIGHT_PARTITION_PARTITION_H_
