#include "meshwright/rules/keep_apart.h"

#include <algorithm>
#include <vector>

#include "meshwright/rules/rule_table.h"

namespace meshwright {
namespace {

// The first instruction that computes with `value`, seen through reshapes.
const Instruction* FirstUser(
    const Instruction* value,
    const std::vector<std::vector<Instruction*>>& users) {
  while (!users[value->id].empty()) {
    const Instruction* user = users[value->id].front();
    if (user->operands.size() > 1 || user->opcode == Opcode::kWhile) {
      return user;
    }
    value = user;
  }
  return value;
}

// What else `user` works on, and comes before `before`.
Instruction* Other(const Instruction& user, const Instruction* value,
                   const Instruction& before) {
  Instruction* latest = nullptr;
  for (Instruction* operand : user.operands) {
    if (operand == value || operand->id >= before.id ||
        StructureOf(*operand) == Structure::kParameter ||
        operand->opcode == Opcode::kConstant) {
      continue;
    }
    if (latest == nullptr || operand->id > latest->id) latest = operand;
  }
  return latest;
}

void KeepApart(Computation& computation, const LocalProgram& program) {
  std::vector<Instruction*> apart;
  for (const auto& instruction : computation.instructions()) {
    const auto note = program.collectives.find(instruction.get());
    if (note != program.collectives.end() && note->second.use != 0) {
      apart.push_back(instruction.get());
    }
  }
  if (apart.empty()) return;
  const std::vector<std::vector<Instruction*>> users = Users(computation);
  Instruction* previous = nullptr;
  for (Instruction* collective : apart) {
    const Instruction* waits_for = previous != nullptr ? previous : collective;
    Instruction* anchor =
        Other(*FirstUser(waits_for, users), waits_for, *collective);
    // Anything before it will do to tell it from others.
    if (anchor == nullptr) anchor = collective->operands[0];
    collective->control_predecessors = {anchor};
    previous = collective;
  }
}

}  // namespace

bool CanStayApart(const Instruction& instruction) {
  return instruction.opcode == Opcode::kAllGather;
}

void KeepApart(LocalProgram& program) {
  for (const auto& computation : program.module.computations()) {
    KeepApart(*computation, program);
  }
}

}  // namespace meshwright
