#include "meshwright/loops/stacked_splits.h"

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
DimensionSplit SplitOf(const LoopElement& element,
                       const std::vector<int64_t>& bounds, int64_t size) {
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
                                  const DimensionSplit& split) {
  std::set<int64_t> at = {0, count};
  for (const int64_t bound : split.bounds) {
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

class SplitFinder {
 public:
  SplitFinder(const Module& module, const LoopSplitOptions& options)
      : entry_(*module.entry()),
        options_(options),
        parameters_(entry_.Parameters()),
        users_(Users(entry_)) {
    splits_.values.resize(entry_.size());
    for (const auto& instruction : entry_.instructions()) {
      if (instruction->opcode != Opcode::kWhile ||
          !OnlyElementsAreUsed(users_[instruction->id])) {
        continue;
      }
      std::optional<CountedLoop> loop = AnalyzeLoop(*instruction);
      if (loop.has_value()) loops_[instruction->id] = *std::move(loop);
    }
  }

  StackedSplits Run() && {
    // Each pass divides at least one more value; a few are enough, as most are
    // found in program order.
    while (Pass()) {
    }
    return std::move(splits_);
  }

 private:
  bool Pass() {
    changed_ = false;
    can_.clear();
    for (const auto& instruction : entry_.instructions()) {
      if (instruction->opcode == Opcode::kWhile) {
        SplitLoop(*instruction);
      } else if (instruction->opcode == Opcode::kGetTupleElement) {
        SplitElement(*instruction);
      } else if (!splits_.values[instruction->id].has_value()) {
        SplitOp(*instruction);
      }
    }
    for (const NextValue& next : options_.state) {
      const Instruction& output =
          splits_.Source(*entry_.root()->operands[next.output]);
      if (splits_.values[output.id].has_value()) {
        Split(*parameters_[next.parameter], *splits_.values[output.id]);
      }
    }
    return changed_;
  }

  const Instruction& OperandOf(const Instruction& loop, size_t e) const {
    return splits_.Source(*loop.operands[0]->operands[e]);
  }

  void SplitLoop(const Instruction& loop) {
    const auto found = loops_.find(loop.id);
    if (found == loops_.end() || loop.operands[0]->opcode != Opcode::kTuple) {
      return;
    }
    const CountedLoop& counted = found->second;
    if (!splits_.loops.contains(loop.id)) {
      std::vector<int64_t> bounds = BoundsOf(loop, counted);
      if (bounds.size() < 3) return;
      splits_.loops[loop.id] = {.loop = counted, .bounds = std::move(bounds)};
      changed_ = true;
    }
    for (size_t e = 0; e < counted.elements.size(); ++e) {
      const LoopElement& element = counted.elements[e];
      if (element.kind != Kind::kStacked) continue;
      const Instruction& operand = OperandOf(loop, e);
      Split(operand, SplitOf(element, splits_.loops[loop.id].bounds,
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
      const std::optional<DimensionSplit>& split = splits_.values[operand.id];
      if (element.kind != Kind::kStacked || !split.has_value() ||
          split->dimension != element.dimension ||
          ByteSize(operand.shape) <= most) {
        continue;
      }
      most = ByteSize(operand.shape);
      bounds = IterationsAt(element, counted.count, *split);
    }
    return bounds;
  }

  void SplitElement(const Instruction& element) {
    const auto found = splits_.loops.find(element.operands[0]->id);
    if (found == splits_.loops.end()) return;
    const LoopElement& carried =
        found->second.loop.elements[element.attributes->tuple_index];
    if (carried.kind != Kind::kStacked || !carried.is_written) return;
    Set(element, SplitOf(carried, found->second.bounds,
                         element.shape.dimensions[carried.dimension]));
  }

  // An op on a divided value is done in parts, if possible.
  void SplitOp(const Instruction& instruction) {
    for (size_t i = 0; i < instruction.operands.size(); ++i) {
      const Instruction& operand = splits_.Source(*instruction.operands[i]);
      const std::optional<DimensionSplit>& split = splits_.values[operand.id];
      if (!split.has_value()) continue;
      const std::optional<OpRestriction> parts =
          OpRestriction::OfOperand(instruction, i, *split);
      if (!parts.has_value() || !parts->Result().has_value()) continue;
      Set(instruction, *parts->Result());
      for (size_t j = 0; j < instruction.operands.size(); ++j) {
        if (const std::optional<DimensionSplit> other = parts->Operand(j)) {
          Split(*instruction.operands[j], *other);
        }
      }
      return;
    }
  }

  void Set(const Instruction& value, DimensionSplit split) {
    std::optional<DimensionSplit>& known = splits_.values[value.id];
    if (known.has_value()) return;
    known = std::move(split);
    changed_ = true;
  }

  // Divides a value that depends on parameters only, and these, if all can be.
  void Split(const Instruction& value, const DimensionSplit& split) {
    if (split.bounds.size() > 2 && CanSplit(value, split)) Mark(value, split);
  }

  bool CanSplit(const Instruction& at, const DimensionSplit& split) {
    const Instruction& value = splits_.Source(at);
    const std::optional<DimensionSplit>& known = splits_.values[value.id];
    if (known.has_value()) return *known == split;
    if (value.opcode == Opcode::kParameter) {
      return options_.may_split[value.attributes->parameter_number];
    }
    const auto [answer, is_new] =
        can_.try_emplace({value.id, split.dimension, split.bounds[1]}, false);
    if (!is_new) return answer->second;
    const bool can = CanSplitOp(value, split);
    return can_[{value.id, split.dimension, split.bounds[1]}] = can;
  }

  bool CanSplitOp(const Instruction& value, const DimensionSplit& split) {
    if (value.opcode == Opcode::kConstant || value.opcode == Opcode::kIota) {
      return true;
    }
    const std::optional<OpRestriction> parts =
        OpRestriction::OfResult(value, split);
    if (!parts.has_value()) return false;
    for (size_t i = 0; i < value.operands.size(); ++i) {
      const std::optional<DimensionSplit> operand = parts->Operand(i);
      if (operand.has_value() && !CanSplit(*value.operands[i], *operand)) {
        return false;
      }
    }
    return true;
  }

  void Mark(const Instruction& at, const DimensionSplit& split) {
    const Instruction& value = splits_.Source(at);
    if (splits_.values[value.id].has_value()) return;
    if (value.opcode == Opcode::kParameter) return Set(value, split);
    if (value.operands.empty()) return;
    const std::optional<OpRestriction> parts =
        OpRestriction::OfResult(value, split);
    bool has_parts = false;
    for (size_t i = 0; i < value.operands.size(); ++i) {
      if (const std::optional<DimensionSplit> operand = parts->Operand(i)) {
        Mark(*value.operands[i], *operand);
        has_parts = true;
      }
    }
    // A value that is constant along the dimension costs nothing to
    // rematerialise.
    if (has_parts) Set(value, split);
  }

  const Computation& entry_;
  const LoopSplitOptions& options_;
  const std::vector<Instruction*> parameters_;
  const std::vector<std::vector<Instruction*>> users_;
  std::map<int32_t, CountedLoop> loops_;
  // By value, dimension and first bound.
  std::map<std::tuple<int32_t, int64_t, int64_t>, bool> can_;
  bool changed_ = false;
  StackedSplits splits_;
};

}  // namespace

const Instruction& StackedSplits::Source(const Instruction& value) const {
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

StackedSplits FindStackedSplits(const Module& module,
                                const LoopSplitOptions& options) {
  return SplitFinder(module, options).Run();
}

}  // namespace meshwright
