#include "meshwright/analysis/origins.h"

#include <algorithm>
#include <string>

#include "absl/hash/hash.h"
#include "meshwright/analysis/fingerprint.h"
#include "meshwright/hlo/instruction_key.h"
#include "meshwright/hlo/opcode_traits.h"
#include "meshwright/rules/rule_table.h"

namespace meshwright {
namespace {

// One element of a stack: a slice of size 1 along some dimensions.
bool TakesFromStack(const Instruction& slice) {
  const Shape& stack = slice.operand_shape(0);
  bool smaller = false;
  for (size_t i = 0; i < slice.shape.dimensions.size(); ++i) {
    if (slice.shape.dimensions[i] == stack.dimensions[i]) continue;
    if (slice.shape.dimensions[i] != 1) return false;
    smaller = true;
  }
  return smaller;
}

}  // namespace

Origins::Origins(const FlatGraph& graph, const std::vector<Rule>& rules)
    : graph_(graph), rules_(rules) {
  NumberValues();
  LinkValues();
}

void Origins::NumberValues() {
  InstructionKeys keys;
  numbers_.resize(graph_.values.size());
  for (size_t i = 0; i < graph_.ops.size(); ++i) {
    const FlatOp& op = graph_.ops[i];
    if (!op.live) continue;
    Fingerprint fingerprint;
    const bool computes = op.kind == OpKind::kCompute;
    if (computes && !EntryFor(op.instruction->opcode).stays_apart) {
      fingerprint.Add(absl::string_view(keys.Of(*op.instruction)));
      for (const ValueId operand : op.operands) {
        fingerprint.Add(numbers_[operand]);
      }
    } else {
      fingerprint.Add(i);
    }
    for (int32_t result = 0; result < op.result_count; ++result) {
      uint64_t& number = numbers_[op.first_result + result];
      if (computes && IsBarrier(op.instruction->opcode) &&
          result < std::ssize(op.operands)) {
        number = numbers_[op.operands[result]];
      } else {
        number = Fingerprint(fingerprint).Add(result).value();
      }
    }
  }
}

// What goes round a loop unchanged comes from before it; a stack holds what is
// written to it.
ValueId Origins::CarryLink(const FlatOp& op) const {
  if (op.operands.size() != 2) return ValueId{-1};
  const ValueId after = op.operands[1];
  if (after == op.first_result) return op.operands[0];
  const FlatOp& writer = graph_.producer(after);
  if (writer.live && writer.kind == OpKind::kCompute &&
      writer.instruction->opcode == Opcode::kDynamicUpdateSlice &&
      writer.operands[0] == op.first_result) {
    return writer.operands[1];
  }
  return ValueId{-1};
}

ValueId Origins::LinkOf(const FlatOp& op) const {
  if (op.kind == OpKind::kCarry) return CarryLink(op);
  if (op.kind != OpKind::kCompute) return ValueId{-1};
  const Opcode opcode = op.instruction->opcode;
  const bool passes =
      KeepsElements(opcode) ||
      (opcode == Opcode::kDynamicSlice && TakesFromStack(*op.instruction));
  return passes ? op.operands[0] : ValueId{-1};
}

void Origins::LinkValues() {
  links_.assign(numbers_.size(), ValueId{-1});
  for (const FlatOp& op : graph_.ops) {
    if (!op.live || op.result_count == 0) continue;
    if (op.kind == OpKind::kCompute && IsBarrier(op.instruction->opcode)) {
      for (int32_t i = 0; i < op.result_count; ++i) {
        if (i < std::ssize(op.operands)) {
          links_[op.first_result + i] = op.operands[i];
        }
      }
    } else {
      links_[op.first_result] = LinkOf(op);
    }
  }
  // A stack may be filled from itself; such a circle is cut where it closes.
  roots_.assign(links_.size(), ValueId{-1});
  std::vector<ValueId> path;
  std::vector<bool> on_path(links_.size(), false);
  for (ValueId value{0}; value < std::ssize(links_); ++value) {
    ValueId at = value;
    while (roots_[at] < 0) {
      path.push_back(at);
      on_path[at] = true;
      if (links_[at] >= 0 && on_path[links_[at]]) links_[at] = ValueId{-1};
      if (links_[at] < 0) {
        roots_[at] = at;
        break;
      }
      at = links_[at];
    }
    const ValueId root = roots_[at];
    for (const ValueId passed : path) {
      roots_[passed] = root;
      on_path[passed] = false;
    }
    path.clear();
  }
}

// One link from `value` up, or down to it.
DimLabels Origins::Step(const DimLabels& labels, ValueId value, bool up) const {
  OpId by = graph_.values[value].producer;
  int32_t result = graph_.values[value].result;
  const FlatOp& op = graph_.ops[by];
  size_t operand = 0;
  if (op.kind == OpKind::kCarry) {
    if (links_[value] == op.operands[0]) return labels;
    by = graph_.values[op.operands[1]].producer;  // Writes the stack.
    result = 0;
    operand = 1;
  } else if (IsBarrier(op.instruction->opcode)) {
    operand = static_cast<size_t>(result);
  }
  const Rule& rule = rules_[by];
  const TensorFactors& below = rule.results[result];
  const TensorFactors& above = rule.operands[operand];
  return up ? Carried(rule, below, labels, above)
            : Carried(rule, above, labels, below);
}

DimLabels Origins::Carry(DimLabels labels, ValueId from, ValueId to) const {
  if (numbers_[from] == numbers_[to]) return labels;
  for (; links_[from] >= 0; from = links_[from]) {
    labels = Step(labels, from, /*up=*/true);
  }
  std::vector<ValueId> path;
  for (; links_[to] >= 0; to = links_[to]) path.push_back(to);
  for (auto value = path.rbegin(); value != path.rend(); ++value) {
    labels = Step(labels, *value, /*up=*/false);
  }
  return labels;
}

}  // namespace meshwright
