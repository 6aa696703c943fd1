#include "meshwright/hlo/separate_barriers.h"

#include <map>
#include <vector>

namespace meshwright {
namespace {

// The uses of a joint barrier by element; empty if it is not to be separated.
std::map<int64_t, std::vector<Instruction*>> ElementsOf(
    const Instruction& barrier, const std::vector<Instruction*>& users) {
  if (barrier.opcode != Opcode::kOptBarrier || !barrier.shape.IsTuple() ||
      barrier.operands[0]->opcode != Opcode::kTuple) {
    return {};
  }
  std::map<int64_t, std::vector<Instruction*>> elements;
  for (Instruction* user : users) {
    if (user->opcode != Opcode::kGetTupleElement || user->shape.IsTuple()) {
      return {};
    }
    elements[user->attributes->tuple_index].push_back(user);
  }
  // If only one element is used, the others are there as dependences.
  if (elements.size() < 2) return {};
  return elements;
}

}  // namespace

bool HasJointBarriers(const Module& module) {
  for (const auto& computation : module.computations()) {
    const std::vector<std::vector<Instruction*>> users = Users(*computation);
    for (const auto& instruction : computation->instructions()) {
      if (!ElementsOf(*instruction, users[instruction->id]).empty()) {
        return true;
      }
    }
  }
  return false;
}

void SeparateBarriers(Module& module) {
  for (const auto& computation : module.computations()) {
    const std::vector<std::vector<Instruction*>> users = Users(*computation);
    for (const auto& instruction : computation->instructions()) {
      for (const auto& [index, uses] :
           ElementsOf(*instruction, users[instruction->id])) {
        // The first use becomes the barrier, further ones copies of it: with
        // two barriers, their users could not be merged.
        for (Instruction* use : uses) {
          const bool is_first = use == uses[0];
          use->opcode = is_first ? Opcode::kOptBarrier : Opcode::kCopy;
          use->operands[0] =
              is_first ? instruction->operands[0]->operands[index] : uses[0];
          use->attributes = {};
        }
      }
    }
  }
}

}  // namespace meshwright
