#include "meshwright/loops/stacked_cuts.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace meshwright {
namespace {

using Kind = LoopElement::Kind;

bool OnlyElementsAreUsed(const std::vector<Instruction*>& users) {
  return std::ranges::all_of(users, [](const Instruction* user) {
    return user->opcode == Opcode::kGetTupleElement;
  });
}

// The bounds of the slots if iterations are split at `bounds`.
StackCut CutOf(const LoopElement& element, const std::vector<int64_t>& bounds,
               int64_t size) {
  std::set<int64_t> slots = {0, size};
  for (size_t i = 0; i + 1 < bounds.size(); ++i) {
    const LoopElement::Range range = element.SlotsOf(bounds[i], bounds[i + 1]);
    slots.insert(range.begin);
    slots.insert(range.end);
  }
  return {.dimension = element.dimension,
          .bounds = {slots.begin(), slots.end()}};
}

// The inverse: the iterations in front of which the bounds are.
std::vector<int64_t> IterationsAt(const LoopElement& element, int64_t count,
                                  const StackCut& cut) {
  std::set<int64_t> at = {0, count};
  for (const int64_t bound : cut.bounds) {
    const int64_t slots = element.step > 0
                              ? bound - element.first
                              : element.first + element.width - bound;
    const int64_t iteration = slots / element.width;
    if (slots % element.width == 0 && iteration > 0 && iteration < count) {
      at.insert(iteration);
    }
  }
  return {at.begin(), at.end()};
}

class CutFinder {
 public:
  CutFinder(const Module& module, const LoopSplitOptions& options)
      : entry_(*module.entry()),
        options_(options),
        parameters_(entry_.Parameters()),
        users_(Users(entry_)) {
    cuts_.values.resize(entry_.size());
    for (const auto& instruction : entry_.instructions()) {
      if (instruction->opcode != Opcode::kWhile ||
          !OnlyElementsAreUsed(users_[instruction->id])) {
        continue;
      }
      std::optional<CountedLoop> loop = AnalyzeLoop(*instruction);
      if (loop.has_value()) loops_[instruction->id] = *std::move(loop);
    }
  }

  StackedCuts Run() && {
    // Each pass divides at least one more value; a few are enough, as most are
    // found in program order.
    while (Pass()) {
    }
    return std::move(cuts_);
  }

 private:
  bool Pass() {
    changed_ = false;
    can_.clear();
    for (const auto& instruction : entry_.instructions()) {
      if (instruction->opcode == Opcode::kWhile) {
        CutLoop(*instruction);
      } else if (instruction->opcode == Opcode::kGetTupleElement) {
        CutElement(*instruction);
      } else if (!cuts_.values[instruction->id].has_value()) {
        CutOp(*instruction);
      }
    }
    for (const NextValue& next : options_.state) {
      const Instruction& output =
          cuts_.Source(*entry_.root()->operands[next.output]);
      if (cuts_.values[output.id].has_value()) {
        Cut(*parameters_[next.parameter], *cuts_.values[output.id]);
      }
    }
    return changed_;
  }

  const Instruction& OperandOf(const Instruction& loop, size_t e) const {
    return cuts_.Source(*loop.operands[0]->operands[e]);
  }

  void CutLoop(const Instruction& loop) {
    const auto found = loops_.find(loop.id);
    if (found == loops_.end() || loop.operands[0]->opcode != Opcode::kTuple) {
      return;
    }
    const CountedLoop& counted = found->second;
    if (!cuts_.loops.contains(loop.id)) {
      std::vector<int64_t> bounds = BoundsOf(loop, counted);
      if (bounds.size() < 3) return;
      cuts_.loops[loop.id] = {.loop = counted, .bounds = std::move(bounds)};
      changed_ = true;
    }
    for (size_t e = 0; e < counted.elements.size(); ++e) {
      const LoopElement& element = counted.elements[e];
      if (element.kind != Kind::kStacked) continue;
      const Instruction& operand = OperandOf(loop, e);
      Cut(operand, CutOf(element, cuts_.loops[loop.id].bounds,
                         operand.shape.dimensions[element.dimension]));
    }
  }

  // As requested, or as the largest array that it reads is divided.
  std::vector<int64_t> BoundsOf(const Instruction& loop,
                                const CountedLoop& counted) const {
    const auto asked = options_.at.find(loop.name);
    if (asked != options_.at.end()) {
      std::vector<int64_t> bounds = {0};
      for (const int64_t at : asked->second) {
        if (at > bounds.back() && at < counted.count) bounds.push_back(at);
      }
      bounds.push_back(counted.count);
      return bounds;
    }
    std::vector<int64_t> bounds;
    int64_t most = -1;
    for (size_t e = 0; e < counted.elements.size(); ++e) {
      const LoopElement& element = counted.elements[e];
      const Instruction& operand = OperandOf(loop, e);
      const std::optional<StackCut>& cut = cuts_.values[operand.id];
      if (element.kind != Kind::kStacked || !cut.has_value() ||
          cut->dimension != element.dimension ||
          ByteSize(operand.shape) <= most) {
        continue;
      }
      most = ByteSize(operand.shape);
      bounds = IterationsAt(element, counted.count, *cut);
    }
    return bounds;
  }

  void CutElement(const Instruction& element) {
    const auto found = cuts_.loops.find(element.operands[0]->id);
    if (found == cuts_.loops.end()) return;
    const LoopElement& carried =
        found->second.loop.elements[element.attributes->tuple_index];
    if (carried.kind != Kind::kStacked || !carried.is_written) return;
    Set(element, CutOf(carried, found->second.bounds,
                       element.shape.dimensions[carried.dimension]));
  }

  // An op on a divided value is done in parts, if possible.
  void CutOp(const Instruction& instruction) {
    for (size_t i = 0; i < instruction.operands.size(); ++i) {
      const Instruction& operand = cuts_.Source(*instruction.operands[i]);
      const std::optional<StackCut>& cut = cuts_.values[operand.id];
      if (!cut.has_value()) continue;
      const std::optional<OpRestriction> parts =
          OpRestriction::OfOperand(instruction, i, *cut);
      if (!parts.has_value() || !parts->Result().has_value()) continue;
      Set(instruction, *parts->Result());
      for (size_t j = 0; j < instruction.operands.size(); ++j) {
        if (const std::optional<StackCut> other = parts->Operand(j)) {
          Cut(*instruction.operands[j], *other);
        }
      }
      return;
    }
  }

  void Set(const Instruction& value, StackCut cut) {
    std::optional<StackCut>& known = cuts_.values[value.id];
    if (known.has_value()) return;
    known = std::move(cut);
    changed_ = true;
  }

  // Divides a value that depends on parameters only, and these, if all can be.
  void Cut(const Instruction& value, const StackCut& cut) {
    if (cut.bounds.size() > 2 && CanCut(value, cut)) Mark(value, cut);
  }

  bool CanCut(const Instruction& at, const StackCut& cut) {
    const Instruction& value = cuts_.Source(at);
    const std::optional<StackCut>& known = cuts_.values[value.id];
    if (known.has_value()) return *known == cut;
    if (value.opcode == Opcode::kParameter) {
      return options_.may_cut[value.attributes->parameter_number];
    }
    const auto [answer, is_new] =
        can_.try_emplace({value.id, cut.dimension, cut.bounds[1]}, false);
    if (!is_new) return answer->second;
    const bool can = CanCutOp(value, cut);
    return can_[{value.id, cut.dimension, cut.bounds[1]}] = can;
  }

  bool CanCutOp(const Instruction& value, const StackCut& cut) {
    if (value.opcode == Opcode::kConstant || value.opcode == Opcode::kIota) {
      return true;
    }
    const std::optional<OpRestriction> parts =
        OpRestriction::OfResult(value, cut);
    if (!parts.has_value()) return false;
    for (size_t i = 0; i < value.operands.size(); ++i) {
      const std::optional<StackCut> operand = parts->Operand(i);
      if (operand.has_value() && !CanCut(*value.operands[i], *operand)) {
        return false;
      }
    }
    return true;
  }

  void Mark(const Instruction& at, const StackCut& cut) {
    const Instruction& value = cuts_.Source(at);
    if (cuts_.values[value.id].has_value()) return;
    if (value.opcode == Opcode::kParameter) return Set(value, cut);
    if (value.operands.empty()) return;
    const std::optional<OpRestriction> parts =
        OpRestriction::OfResult(value, cut);
    bool has_parts = false;
    for (size_t i = 0; i < value.operands.size(); ++i) {
      if (const std::optional<StackCut> operand = parts->Operand(i)) {
        Mark(*value.operands[i], *operand);
        has_parts = true;
      }
    }
    // A value that is constant along the dimension costs nothing to
    // rematerialise.
    if (has_parts) Set(value, cut);
  }

  const Computation& entry_;
  const LoopSplitOptions& options_;
  const std::vector<Instruction*> parameters_;
  const std::vector<std::vector<Instruction*>> users_;
  std::map<int32_t, CountedLoop> loops_;
  // By value, dimension and first bound.
  std::map<std::tuple<int32_t, int64_t, int64_t>, bool> can_;
  bool changed_ = false;
  StackedCuts cuts_;
};

}  // namespace

const Instruction& StackedCuts::Source(const Instruction& value) const {
  const Instruction* here = &value;
  while (here->opcode == Opcode::kGetTupleElement) {
    const Instruction& tuple = *here->operands[0];
    const int64_t e = here->attributes->tuple_index;
    if (tuple.opcode == Opcode::kTuple) {
      here = tuple.operands[e];
      continue;
    }
    const auto found = loops.find(tuple.id);
    if (found == loops.end()) break;
    const LoopElement& element = found->second.loop.elements[e];
    if (element.kind != Kind::kInvariant &&
        (element.kind != Kind::kStacked || element.is_written)) {
      break;
    }
    here = tuple.operands[0]->operands[e];
  }
  return *here;
}

StackedCuts FindStackedCuts(const Module& module,
                            const LoopSplitOptions& options) {
  return CutFinder(module, options).Run();
}

}  // namespace meshwright
