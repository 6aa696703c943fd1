#include "meshwright/hlo/fold_transposes.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace meshwright {
namespace {

// Batch dimensions stay first, and the dimensions of the second operand come
// before those of the first.
bool ExchangesOperands(const Instruction& dot, const Instruction& transpose) {
  const DotDimensionNumbers& numbers = *dot.attributes->dot;
  const auto batch = static_cast<int64_t>(numbers.lhs_batch.size());
  const auto rank = static_cast<int64_t>(dot.shape.dimensions.size());
  const int64_t first =
      static_cast<int64_t>(dot.operand_shape(0).dimensions.size()) - batch -
      static_cast<int64_t>(numbers.lhs_contracting.size());
  std::vector<int64_t> wanted(rank);
  std::iota(wanted.begin(), wanted.end(), 0);
  std::rotate(wanted.begin() + batch, wanted.begin() + batch + first,
              wanted.end());
  return transpose.attributes->dimensions == wanted;
}

bool IsPlain(const Instruction& instruction) {
  return instruction.control_predecessors.empty() &&
         !instruction.sharding.has_value() &&
         instruction.frontend_attributes.empty();
}

bool CanFold(const Instruction& transpose,
             const std::vector<std::vector<Instruction*>>& users) {
  if (transpose.opcode != Opcode::kTranspose || !IsPlain(transpose)) {
    return false;
  }
  const Instruction& dot = *transpose.operands[0];
  return dot.opcode == Opcode::kDot && dot.operands.size() == 2 &&
         dot.attributes->dot.has_value() && users[dot.id].size() == 1 &&
         IsPlain(dot) && ExchangesOperands(dot, transpose);
}

void ExchangeOperands(Instruction& dot) {
  std::swap(dot.operands[0], dot.operands[1]);
  Attributes& attributes = dot.attributes.mutate();
  std::swap(attributes.dot->lhs_batch, attributes.dot->rhs_batch);
  std::swap(attributes.dot->lhs_contracting, attributes.dot->rhs_contracting);
  if (attributes.precision.has_value()) {
    std::ranges::reverse(attributes.precision->operand_precision);
  }
}

// By instruction: whether another one has a control dependence on it.
std::vector<bool> Awaited(const Computation& computation) {
  std::vector<bool> awaited(computation.size(), false);
  for (const auto& instruction : computation.instructions()) {
    for (const Instruction* before : instruction->control_predecessors) {
      awaited[before->id] = true;
    }
  }
  return awaited;
}

void FoldIn(Computation& computation) {
  const std::vector<std::vector<Instruction*>> users = Users(computation);
  const std::vector<bool> awaited = Awaited(computation);
  std::vector<Instruction*> order;
  for (const auto& instruction : computation.instructions()) {
    Instruction* const transpose = instruction.get();
    if (!CanFold(*transpose, users) || awaited[transpose->id] ||
        awaited[transpose->operands[0]->id] ||
        transpose->operands[0] == computation.root()) {
      order.push_back(transpose);
      continue;
    }
    Instruction* const dot = transpose->operands[0];
    ExchangeOperands(*dot);
    dot->shape = transpose->shape;
    for (Instruction* user : users[transpose->id]) {
      std::ranges::replace(user->operands, transpose, dot);
    }
    if (computation.root() == transpose) computation.set_root(dot);
  }
  if (std::ssize(order) != computation.size()) computation.Keep(order);
}

}  // namespace

void FoldTransposes(Module& module) {
  for (const auto& computation : module.computations()) FoldIn(*computation);
}

}  // namespace meshwright
