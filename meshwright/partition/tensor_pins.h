// Pins and annotations, as pins on the operands and results of the ops of a
// flat graph.
//
//   PinsByOp(graph, {.outputs = {"[data, -]"}})[output_op]
//     == {{.tensor = 0, .asked = "[data, -]"}}
#ifndef MESHWRIGHT_PARTITION_TENSOR_PINS_H_
#define MESHWRIGHT_PARTITION_TENSOR_PINS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "meshwright/annotations/annotations.h"
#include "meshwright/graph/flat_graph.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/mesh/sharding.h"

namespace meshwright {

struct TensorPin {
  // Operands are numbered first, then results.
  int32_t tensor = 0;
  const Annotation* asked = nullptr;
  const Instruction* instruction = nullptr;  // That the user pinned,
  OpId op;                                   // and its op.
};

// kInvalidArgument, naming the tensor, for a pin that does not fit the tensor's
// shape or the mesh, or asks for a partial sum.
absl::Status CheckPins(const Module& module, const FlatGraph& graph,
                       const Mesh& mesh, const Annotations& given);

// By op: pins of instructions first, then of parameters and outputs. `pairs`
// are state parameters and their next values: a pin on one also applies to the
// other. The first two arguments must outlive the result.
std::vector<std::vector<TensorPin>> PinsByOp(
    const FlatGraph& graph, const Annotations& given,
    const std::vector<std::pair<OpId, OpId>>& pairs = {});

// Whether `sharding` is what `asked` asks for. Partial sums never are.
bool Meets(const Sharding& sharding, const Annotation& asked);

// Whether some sharding satisfies both.
bool Agree(const Annotation& a, const Annotation& b);

}  // namespace meshwright

#endif  // MESHWRIGHT_PARTITION_TENSOR_PINS_H_
