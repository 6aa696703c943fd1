#include "meshwright/program_passes/sink_reductions.h"

#include <utility>
#include <vector>

namespace meshwright {
namespace {

// Swaps the operations of two instructions, but not their operands and
// positions. Requires: `second` is the only user of `first`.
void Exchange(Instruction& first, Instruction& second, LocalProgram& program) {
  std::swap(first.opcode, second.opcode);
  std::swap(first.name, second.name);
  std::swap(first.called, second.called);
  std::swap(first.attributes, second.attributes);
  std::swap(first.metadata, second.metadata);
  std::swap(first.frontend_attributes, second.frontend_attributes);
  std::swap(first.unknown_fields, second.unknown_fields);
  first.shape = second.shape;
  const auto note = program.collectives.find(&first);
  if (note == program.collectives.end()) return;
  CollectiveNote moved = std::move(note->second);
  program.collectives.erase(note);
  program.collectives.emplace(&second, std::move(moved));
}

bool Arranges(const Instruction& instruction) {
  return instruction.opcode == Opcode::kTranspose ||
         instruction.opcode == Opcode::kReshape;
}

void SinkIn(Computation& computation, LocalProgram& program) {
  std::vector<int32_t> uses(computation.size(), 0);
  for (const auto& instruction : computation.instructions()) {
    for (const Instruction* operand : instruction->operands) {
      ++uses[operand->id];
    }
  }
  ++uses[computation.root()->id];
  // In order, so that an all-reduce passes all that follow.
  for (const auto& instruction : computation.instructions()) {
    if (!Arranges(*instruction)) continue;
    Instruction* sum = instruction->operands[0];
    if (sum->opcode == Opcode::kAllReduce && sum->operands.size() == 1 &&
        uses[sum->id] == 1 && sum->control_predecessors.empty() &&
        instruction->control_predecessors.empty()) {
      Exchange(*sum, *instruction, program);
    }
  }
}

}  // namespace

void SinkReductions(LocalProgram& program) {
  for (const auto& computation : program.module.computations()) {
    SinkIn(*computation, program);
  }
}

}  // namespace meshwright
