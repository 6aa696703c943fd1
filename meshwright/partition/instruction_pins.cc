#include "meshwright/partition/instruction_pins.h"

namespace meshwright {

std::vector<InstructionPin> InstructionPins(const FlatGraph& graph,
                                            const Annotations& given) {
  std::vector<InstructionPin> pins;
  if (given.instructions.empty()) return pins;
  const auto add = [&](const Instruction* instruction, ValueId value) {
    const auto found = given.instructions.find(instruction);
    if (found == given.instructions.end()) return;
    if (!graph.producer(value).live) return;
    pins.push_back({instruction, value, &found->second});
  };
  for (const FlatOp& op : graph.ops) {
    if (op.kind == OpKind::kCompute && op.result_count > 0) {
      add(op.instruction, op.first_result);
    }
  }
  for (const OtherName& name : graph.other_names) {
    add(name.instruction, name.value);
  }
  return pins;
}

}  // namespace meshwright
