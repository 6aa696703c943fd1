#include "meshwright/program_passes/prevent_cse.h"

#include <algorithm>
#include <vector>

#include "absl/algorithm/container.h"
#include "meshwright/hlo/opcode_traits.h"
#include "meshwright/rules/families.h"
#include "meshwright/rules/matrix_product.h"
#include "meshwright/rules/rule_table.h"

namespace meshwright {
namespace {

// How many elementwise operations are followed; at most 2^6 ops are visited.
constexpr int kNearby = 5;

// The first instruction that computes with `value`, looking through reshapes.
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

bool IsParameterOrConstant(const Instruction& instruction) {
  return StructureOf(instruction) == Structure::kParameter ||
         instruction.opcode == Opcode::kConstant;
}

// Whether XLA's compilers rewrite the op as others, mostly or always.
bool MayBeRewritten(const Instruction& value) {
  if (value.opcode == Opcode::kDot) return !IsMatrixProduct(value);
  return IsRewritten(value.opcode);
}

// Whether an op that XLA rewrites may replace `value`, and so inherit its
// control dependences: the simplifier makes x of x + 0.
bool MayBeReplaced(const Instruction& value, int depth) {
  return absl::c_any_of(value.operands, [&](const Instruction* operand) {
    return MayBeRewritten(*operand) ||
           (depth > 0 && IsElementwise(operand->opcode) &&
            MayBeReplaced(*operand, depth - 1));
  });
}

// The value, or a transitive operand of it, that XLA need not rewrite. XLA does
// not rewrite ops on which others have control dependences, not even those that
// it cannot compile as written (gathers, contractions of several dimensions) or
// that are slow as written.
Instruction* LeftAsItIs(Instruction* value) {
  while (value != nullptr && !IsParameterOrConstant(*value)) {
    if ((IsElementwise(value->opcode) && !MayBeReplaced(*value, kNearby)) ||
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

// Another operand of `user` that comes before `before`.
Instruction* Other(const Instruction& user, const Instruction* value,
                   const Instruction& before) {
  Instruction* latest = nullptr;
  for (Instruction* operand : user.operands) {
    if (operand == value || operand->id >= before.id) continue;
    Instruction* const as_it_is = LeftAsItIs(operand);
    if (as_it_is == nullptr || as_it_is == value ||
        IsParameterOrConstant(*as_it_is)) {
      continue;
    }
    if (latest == nullptr || as_it_is->id > latest->id) latest = as_it_is;
  }
  return latest;
}

void PreventCse(Computation& computation, const LocalProgram& program) {
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
    // Anything before it is enough to distinguish it from others.
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

void PreventCse(LocalProgram& program) {
  for (const auto& computation : program.module.computations()) {
    PreventCse(*computation, program);
  }
}

}  // namespace meshwright
