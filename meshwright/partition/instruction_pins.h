// Pins on instructions, as pins on the values of a flat graph.
//
// An instruction need not have an op of its own: an element of a tuple or a
// parameter of a loop body is a value produced elsewhere, and equal
// instructions are merged into one op. A pin on such an instruction applies to
// the value.
#ifndef MESHWRIGHT_PARTITION_INSTRUCTION_PINS_H_
#define MESHWRIGHT_PARTITION_INSTRUCTION_PINS_H_

#include <vector>

#include "meshwright/annotations/annotations.h"
#include "meshwright/graph/flat_graph.h"

namespace meshwright {

struct InstructionPin {
  const Instruction* instruction = nullptr;
  ValueId value;  // Produced by a live op.
  const Annotation* asked = nullptr;
};

// In the order of the graph's ops; pins on values whose instruction has no op
// of its own come last. Instructions that no output depends on are skipped.
// Both arguments must outlive the result.
std::vector<InstructionPin> InstructionPins(const FlatGraph& graph,
                                            const Annotations& given);

}  // namespace meshwright

#endif  // MESHWRIGHT_PARTITION_INSTRUCTION_PINS_H_
