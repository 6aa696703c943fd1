#include "meshwright/loops/loop_sources.h"

#include <map>
#include <optional>

#include "meshwright/loops/counted_loop.h"

namespace meshwright {
namespace {

class Finder {
 public:
  IndexSources Run(const Module& module) {
    for (const auto& computation : module.computations()) {
      for (const auto& instruction : computation->instructions()) {
        if (instruction->opcode == Opcode::kWhile) Look(*instruction);
      }
    }
    return std::move(sources_);
  }

 private:
  const std::optional<CountedLoop>& Counted(const Instruction& loop) {
    const auto [it, is_new] = counted_.try_emplace(&loop);
    if (is_new) it->second = AnalyzeLoop(loop);
    return it->second;
  }

  void Look(const Instruction& loop) {
    const Instruction& start = *loop.operands[0];
    const std::optional<CountedLoop>& counted = Counted(loop);
    if (!counted.has_value() || start.opcode != Opcode::kTuple) return;
    for (const auto& value : loop.called[0]->instructions()) {
      if (value->opcode == Opcode::kDynamicSlice) {
        LookAtSlice(*value, *counted, start);
      }
      if (value->opcode != Opcode::kGetTupleElement ||
          value->operands[0]->opcode != Opcode::kParameter) {
        continue;
      }
      const int64_t index = value->attributes->tuple_index;
      if (counted->elements[index].kind == LoopElement::Kind::kInvariant) {
        sources_[value.get()] = start.operands[index];
      }
    }
  }

  void LookAtSlice(const Instruction& slice, const CountedLoop& counted,
                   const Instruction& start) {
    const Instruction& stack = *slice.operands[0];
    if (stack.opcode != Opcode::kGetTupleElement ||
        stack.operands[0]->opcode != Opcode::kParameter) {
      return;
    }
    const int64_t index = stack.attributes->tuple_index;
    const LoopElement& element = counted.elements[index];
    if (element.kind != LoopElement::Kind::kStacked || element.is_written) {
      return;
    }
    const Instruction* written = Written(*start.operands[index]);
    if (written != nullptr && SameDimensions(written->shape, slice.shape)) {
      sources_[&slice] = written;
    }
  }

  // What a loop writes into every slot of an array; null if `stack` is not such
  // an array.
  const Instruction* Written(const Instruction& stack) {
    if (stack.opcode != Opcode::kGetTupleElement ||
        stack.operands[0]->opcode != Opcode::kWhile) {
      return nullptr;
    }
    const Instruction& loop = *stack.operands[0];
    const std::optional<CountedLoop>& counted = Counted(loop);
    const Instruction& end = *loop.called[0]->root();
    if (!counted.has_value() || end.opcode != Opcode::kTuple) return nullptr;
    const int64_t index = stack.attributes->tuple_index;
    const LoopElement& element = counted->elements[index];
    const Instruction& update = *end.operands[index];
    if (element.kind != LoopElement::Kind::kStacked || !element.is_written ||
        update.opcode != Opcode::kDynamicUpdateSlice ||
        counted->count * element.width !=
            stack.shape.dimensions[element.dimension]) {
      return nullptr;
    }
    return update.operands[1];
  }

  std::map<const Instruction*, std::optional<CountedLoop>> counted_;
  IndexSources sources_;
};

}  // namespace

IndexSources FindLoopSources(const Module& module) {
  return Finder().Run(module);
}

}  // namespace meshwright
