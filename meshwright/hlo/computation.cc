#include "meshwright/hlo/computation.h"

#include <utility>

namespace meshwright {

Instruction* Computation::Add(Opcode opcode, Shape shape,
                              std::vector<Instruction*> operands,
                              std::string name) {
  auto instruction = std::make_unique<Instruction>();
  instruction->id = size();
  instruction->opcode = opcode;
  instruction->name = std::move(name);
  instruction->shape = std::move(shape);
  instruction->operands = std::move(operands);
  root_ = instruction.get();
  instructions_.push_back(std::move(instruction));
  return root_;
}

Instruction* Computation::AddParameter(Shape shape, std::string name) {
  Instruction* parameter =
      Add(Opcode::kParameter, std::move(shape), {}, std::move(name));
  parameter->attributes.mutate().parameter_number = parameter_count_++;
  return parameter;
}

void Computation::Keep(const std::vector<Instruction*>& order) {
  std::vector<std::unique_ptr<Instruction>> kept;
  kept.reserve(order.size());
  for (Instruction* instruction : order) {
    kept.push_back(std::move(instructions_[instruction->id]));
  }
  instructions_ = std::move(kept);
  for (size_t i = 0; i < instructions_.size(); ++i) {
    instructions_[i]->id = static_cast<int32_t>(i);
  }
}

std::vector<Instruction*> Computation::Parameters() const {
  std::vector<Instruction*> parameters;
  for (const auto& instruction : instructions_) {
    if (instruction->opcode != Opcode::kParameter) continue;
    const int64_t number = instruction->attributes->parameter_number;
    if (number < 0 || number >= size()) continue;
    if (number >= std::ssize(parameters)) parameters.resize(number + 1);
    parameters[number] = instruction.get();
  }
  return parameters;
}

std::vector<std::vector<Instruction*>> Users(const Computation& computation) {
  std::vector<std::vector<Instruction*>> users(computation.size());
  for (const auto& instruction : computation.instructions()) {
    for (const Instruction* operand : instruction->operands) {
      std::vector<Instruction*>& list = users[operand->id];
      if (list.empty() || list.back() != instruction.get()) {
        list.push_back(instruction.get());
      }
    }
  }
  return users;
}

}  // namespace meshwright
