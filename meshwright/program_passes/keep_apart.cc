#include "meshwright/program_passes/keep_apart.h"

#include <algorithm>
#include <vector>

#include "meshwright/hlo/opcode_traits.h"
#include "meshwright/rules/families.h"
#include "meshwright/rules/matrix_product.h"
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

bool IsGiven(const Instruction& instruction) {
  return StructureOf(instruction) == Structure::kParameter ||
         instruction.opcode == Opcode::kConstant;
}

// Or what that is made of, and so on. XLA leaves ops alone that others wait
// for, also those that it cannot compile as they are, such as gathers and
// contractions of several dimensions, or that are slow as they are.
Instruction* LeftAsItIs(Instruction* value) {
  while (value != nullptr && !IsGiven(*value)) {
    if (IsElementwise(value->opcode) ||
        (value->opcode == Opcode::kDot && IsMatrixProduct(*value))) {
      return value;
    }
    Instruction* latest = nullptr;
    for (Instruction* operand : value->operands) {
      if (latest == nullptr || operand->id > latest->id) latest = operand;
    }
    value = latest;
  }
  return value;
}

// What else `user` works on, and comes before `before`.
Instruction* Other(const Instruction& user, const Instruction* value,
                   const Instruction& before) {
  Instruction* latest = nullptr;
  for (Instruction* operand : user.operands) {
    if (operand == value || operand->id >= before.id) continue;
    Instruction* const as_it_is = LeftAsItIs(operand);
    if (as_it_is == nullptr || as_it_is == value || IsGiven(*as_it_is)) {
      continue;
    }
    if (latest == nullptr || as_it_is->id > latest->id) latest = as_it_is;
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
    if (anchor == nullptr) anchor = LeftAsItIs(collective->operands[0]);
    if (anchor == nullptr) continue;
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
