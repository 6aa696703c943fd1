#include "meshwright/hlo/sink_loop_constants.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "meshwright/hlo/opcode_traits.h"

namespace meshwright {
namespace {

constexpr int kDeepest = 8;

// The value itself, of a tuple that an inlined call returned.
const Instruction& Untupled(const Instruction& value) {
  const Instruction* at = &value;
  while (at->opcode == Opcode::kGetTupleElement &&
         at->operands[0]->opcode == Opcode::kTuple) {
    at = at->operands[0]->operands[at->attributes->tuple_index];
  }
  return *at;
}

bool IsConstant(const Instruction& element, int depth = kDeepest) {
  const Instruction& value = Untupled(element);
  switch (value.opcode) {
    case Opcode::kConstant:
      return ElementCount(value.shape) == 1;
    case Opcode::kIota:
      return true;
    case Opcode::kBroadcast:
    case Opcode::kReshape:
      break;
    default:
      if (!IsArithmetic(value.opcode)) return false;
  }
  return depth > 0 && value.called.empty() && !value.operands.empty() &&
         value.control_predecessors.empty() &&
         std::ranges::all_of(value.operands, [&](const Instruction* operand) {
           return IsConstant(*operand, depth - 1);
         });
}

class Sinker {
 public:
  Sinker(Computation& body, std::set<std::string>& names)
      : body_(body), names_(names) {}

  // Replaces what is read of element i by a copy of `constants[i]`, if given.
  void Run(const std::map<int64_t, const Instruction*>& constants) {
    Instruction* const root = body_.root();
    const int32_t count = body_.size();
    std::map<const Instruction*, Instruction*> replaced;
    for (int32_t id = 0; id < count; ++id) {
      Instruction* op = body_.instruction(id);
      if (op != root) {
        for (Instruction*& operand : op->operands) {
          const auto found = replaced.find(operand);
          if (found != replaced.end()) operand = found->second;
        }
      }
      order_.push_back(op);
      if (op->opcode != Opcode::kGetTupleElement ||
          op->operands[0]->opcode != Opcode::kParameter) {
        continue;
      }
      const auto constant = constants.find(op->attributes->tuple_index);
      if (constant == constants.end()) continue;
      replaced[op] = CopyOf(*constant->second);
    }
    body_.set_root(root);
    body_.Keep(order_);
  }

 private:
  Instruction* CopyOf(const Instruction& element) {
    const Instruction& value = Untupled(element);
    Instruction*& copy = copies_[&value];
    if (copy != nullptr) return copy;
    std::vector<Instruction*> operands;
    for (const Instruction* operand : value.operands) {
      operands.push_back(CopyOf(*operand));
    }
    std::string name = absl::StrCat(value.name, ".in.", body_.name());
    for (int i = 1; !names_.insert(name).second; ++i) {
      name = absl::StrCat(value.name, ".in.", body_.name(), ".", i);
    }
    Instruction* made = body_.Add(value.opcode, value.shape,
                                  std::move(operands), std::move(name));
    made->attributes = value.attributes;
    made->metadata = value.metadata;
    order_.push_back(made);
    return copies_[&value] = made;
  }

  Computation& body_;
  std::set<std::string>& names_;
  std::vector<Instruction*> order_;
  std::map<const Instruction*, Instruction*> copies_;
};

// By element, the constants that the loop passes on as they are.
std::map<int64_t, const Instruction*> ConstantsOf(const Instruction& loop,
                                                  const Computation& body) {
  std::map<int64_t, const Instruction*> constants;
  const Instruction& start = *loop.operands[0];
  const Instruction& end = *body.root();
  if (start.opcode != Opcode::kTuple || end.opcode != Opcode::kTuple) {
    return constants;
  }
  for (size_t i = 0; i < end.operands.size(); ++i) {
    const Instruction& next = *end.operands[i];
    if (next.opcode == Opcode::kGetTupleElement &&
        next.operands[0]->opcode == Opcode::kParameter &&
        next.attributes->tuple_index == static_cast<int64_t>(i) &&
        start.operands[i]->shape.IsArray() && IsConstant(*start.operands[i])) {
      constants[static_cast<int64_t>(i)] = start.operands[i];
    }
  }
  return constants;
}

}  // namespace

void SinkLoopConstants(Module& module) {
  std::set<std::string> names;
  std::map<const Computation*, int> callers;
  for (const auto& computation : module.computations()) {
    for (const auto& instruction : computation->instructions()) {
      names.insert(instruction->name);
      for (const Computation* called : instruction->called) ++callers[called];
    }
  }
  // Callers first, as loops hand on what they get.
  const auto& computations = module.computations();
  for (size_t i = computations.size(); i-- > 0;) {
    for (const auto& instruction : computations[i]->instructions()) {
      if (instruction->opcode != Opcode::kWhile) continue;
      for (Computation* body : instruction->called) {
        const auto constants = ConstantsOf(*instruction, *body);
        if (constants.empty() || callers[body] != 1) continue;
        Sinker(*body, names).Run(constants);
      }
    }
  }
}

}  // namespace meshwright
