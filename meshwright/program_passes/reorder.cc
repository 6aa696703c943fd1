#include "meshwright/program_passes/reorder.h"

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

namespace meshwright {

void Reorder(Computation& computation) {
  std::vector<bool> needed(computation.size(), false);
  std::vector<Instruction*> stack = {computation.root()};
  for (Instruction* parameter : computation.Parameters()) {
    stack.push_back(parameter);
  }
  std::vector<std::vector<Instruction*>> users(computation.size());
  std::vector<size_t> waiting(computation.size(), 0);
  while (!stack.empty()) {
    Instruction* instruction = stack.back();
    stack.pop_back();
    if (needed[instruction->id]) continue;
    needed[instruction->id] = true;
    waiting[instruction->id] = instruction->operands.size();
    for (Instruction* operand : instruction->operands) {
      users[operand->id].push_back(instruction);
      stack.push_back(operand);
    }
  }
  std::priority_queue<int32_t, std::vector<int32_t>, std::greater<>> ready;
  for (int32_t id = 0; id < computation.size(); ++id) {
    if (needed[id] && waiting[id] == 0) ready.push(id);
  }
  std::vector<Instruction*> order;
  while (!ready.empty()) {
    Instruction* instruction = computation.instruction(ready.top());
    ready.pop();
    order.push_back(instruction);
    for (const Instruction* user : users[instruction->id]) {
      if (--waiting[user->id] == 0) ready.push(user->id);
    }
  }
  computation.Keep(order);
}

void Replace(Computation& computation,
             const std::vector<Instruction*>& replacement, Instruction* root) {
  const auto replaced = [&](Instruction* instruction) {
    const size_t id = static_cast<size_t>(instruction->id);
    return id < replacement.size() && replacement[id] != nullptr
               ? replacement[id]
               : instruction;
  };
  for (const auto& instruction : computation.instructions()) {
    for (Instruction*& operand : instruction->operands) {
      operand = replaced(operand);
    }
  }
  computation.set_root(replaced(root));
  Reorder(computation);
}

}  // namespace meshwright
