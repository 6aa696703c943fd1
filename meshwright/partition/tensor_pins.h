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
  // An operand; or, counting on after the operands, a result.
  int32_t tensor = 0;
  const Annotation* asked = nullptr;
  const Instruction* instruction = nullptr;  // That was pinned,
  OpId op = 0;                               // and its op.
};

// kInvalidArgument, naming the tensor, for what does not fit its shape or the
// mesh, or is a partial sum.
absl::Status CheckPins(const Module& module, const FlatGraph& graph,
                       const Mesh& mesh, const Annotations& given);

// By op: instructions first, then parameters and outputs. `pairs` are state
// parameters and their next values: what is pinned for one is for the other.
// The first two arguments outlive the result.
std::vector<std::vector<TensorPin>> PinsByOp(
    const FlatGraph& graph, const Annotations& given,
    const std::vector<std::pair<OpId, OpId>>& pairs = {});

// Whether a tensor that is sharded so is sharded as asked. Partial sums are
// not.
bool Meets(const Sharding& sharding, const Annotation& asked);

// Whether some sharding meets both.
bool Agree(const Annotation& a, const Annotation& b);

}  // namespace meshwright

#endif  // MESHWRIGHT_PARTITION_TENSOR_PINS_H_
