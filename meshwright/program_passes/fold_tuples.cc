#include "meshwright/program_passes/fold_tuples.h"

#include <algorithm>
#include <vector>

#include "meshwright/program_passes/reorder.h"

namespace meshwright {
namespace {

bool IsOfTuple(const Instruction& instruction) {
  return instruction.opcode == Opcode::kGetTupleElement &&
         instruction.operands[0]->opcode == Opcode::kTuple;
}

bool HandsOn(const Computation& computation) {
  return std::ranges::any_of(
      computation.instructions(),
      [](const auto& instruction) { return IsOfTuple(*instruction); });
}

// Operands come before their users: an element of an element is found too.
void Fold(Computation& computation) {
  std::vector<Instruction*> replacement(computation.size(), nullptr);
  for (const auto& instruction : computation.instructions()) {
    for (Instruction*& operand : instruction->operands) {
      if (replacement[operand->id] != nullptr) {
        operand = replacement[operand->id];
      }
    }
    if (!IsOfTuple(*instruction)) continue;
    replacement[instruction->id] =
        instruction->operands[0]
            ->operands[instruction->attributes->tuple_index];
  }
  Replace(computation, replacement, computation.root());
}

}  // namespace

bool HandsOnTuples(const Module& module) {
  return std::ranges::any_of(
      module.computations(),
      [](const auto& computation) { return HandsOn(*computation); });
}

void FoldTuples(Module& module) {
  for (const auto& computation : module.computations()) {
    if (HandsOn(*computation)) Fold(*computation);
  }
}

}  // namespace meshwright
