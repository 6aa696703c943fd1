#include "meshwright/planner/program_arguments.h"

#include <cstdint>
#include <vector>

namespace meshwright {

ProgramArguments CountArguments(const PipelineStep& step) {
  const Computation& entry = *step.micro_batch().entry();
  // Read in the forward pass.
  std::vector<bool> in_forward(entry.size(), false);
  std::vector<bool> in_backward(entry.size(), false);
  for (const auto& user : entry.instructions()) {
    if (user.get() == entry.root()) continue;
    for (const Instruction* operand : user->operands) {
      (step.forward[user->id] ? in_forward : in_backward)[operand->id] = true;
    }
  }
  ProgramArguments count;
  for (const auto& value : entry.instructions()) {
    if (!value->shape.IsArray() || value->operands.empty()) continue;
    if (step.forward[value->id] && in_backward[value->id]) {
      // A residual.
      count.forward += 1;
      count.input_grad += 1;
      count.weight_grad += 1;
    }
  }
  const MicroBatchProgram& program = step.split.phases[0];
  const auto parameters = entry.Parameters();
  for (size_t i = 0; i < parameters.size(); ++i) {
    const int32_t id = parameters[i]->id;
    if (program.arguments[i].kind == MicroBatchArgument::Kind::kAccumulator) {
      // Read and written.
      (step.forward[id] ? count.forward : count.weight_grad) += 2;
      continue;
    }
    count.forward += in_forward[id];
    count.input_grad += in_backward[id];
  }
  return count;
}

}  // namespace meshwright
