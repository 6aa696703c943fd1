#include "meshwright/analysis/repeated_ops.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "meshwright/hlo/instruction_key.h"
#include "meshwright/rules/rule_table.h"

namespace meshwright {
namespace {

// The value in front of barriers; the value itself if there are none.
const Instruction& BeforeBarriers(const Instruction& value) {
  const Instruction* at = &value;
  while (true) {
    if (at->opcode == Opcode::kOptBarrier && at->shape.IsArray()) {
      at = at->operands[0];
      continue;
    }
    if (at->opcode != Opcode::kGetTupleElement ||
        at->operands[0]->opcode != Opcode::kOptBarrier ||
        at->operands[0]->operands[0]->opcode != Opcode::kTuple) {
      return *at;
    }
    at = at->operands[0]->operands[0]->operands[at->attributes->tuple_index];
  }
}

}  // namespace

std::vector<int32_t> FirstIdentical(const Computation& computation) {
  std::vector<int32_t> first(computation.size());
  std::iota(first.begin(), first.end(), 0);
  const auto is_barrier = [](const auto& instruction) {
    return instruction->opcode == Opcode::kOptBarrier;
  };
  if (std::ranges::none_of(computation.instructions(), is_barrier)) {
    return first;
  }
  InstructionKeys keys;
  absl::flat_hash_map<std::string, int32_t> known;
  for (const auto& instruction : computation.instructions()) {
    const int32_t id = instruction->id;
    const Instruction& before = BeforeBarriers(*instruction);
    if (&before != instruction.get()) {
      first[id] = first[before.id];
      continue;
    }
    if (EntryFor(instruction->opcode).stays_apart) continue;
    std::string key = keys.Of(*instruction);
    for (const Instruction* operand : instruction->operands) {
      absl::StrAppend(&key, " ", first[operand->id]);
    }
    first[id] = known.try_emplace(std::move(key), id).first->second;
  }
  return first;
}

}  // namespace meshwright
