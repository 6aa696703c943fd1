// Pins on instructions, as pins on the values of a flat graph.
//
// An instruction need not have an op of its own: an element of a tuple and a
// parameter of a loop's body are values that come from elsewhere, and equal
// instructions are one op. A pin on it holds for the value nevertheless.
#ifndef MESHWRIGHT_PARTITION_INSTRUCTION_PINS_H_
#define MESHWRIGHT_PARTITION_INSTRUCTION_PINS_H_

#include <vector>

#include "meshwright/annotations/annotations.h"
#include "meshwright/graph/flat_graph.h"

namespace meshwright {

struct InstructionPin {
  const Instruction* instruction = nullptr;
  ValueId value = 0;  // Of a live op.
  const Annotation* asked = nullptr;
};

// In the order of the graph's ops; those without one come last. What no output
// depends on is left out. Both arguments outlive the result.
std::vector<InstructionPin> InstructionPins(const FlatGraph& graph,
                                            const Annotations& given);

}  // namespace meshwright

#endif  // MESHWRIGHT_PARTITION_INSTRUCTION_PINS_H_
