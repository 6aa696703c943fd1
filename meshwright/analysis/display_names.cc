#include "meshwright/analysis/display_names.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "meshwright/hlo/op_name.h"
#include "meshwright/hlo/opcode_traits.h"

namespace meshwright {
namespace {

// The most rearrangements between a parameter and its use; frontends write no
// longer chains.
constexpr int kMostLinks = 32;

// The operand that an instruction passes on, with its elements unchanged or
// rearranged; null if it computes something.
const Instruction* PassedOn(const Instruction& instruction) {
  const Opcode opcode = instruction.opcode;
  const bool passes = KeepsElements(opcode) || KeepsBytes(opcode) ||
                      IsBarrier(opcode) || opcode == Opcode::kSlice ||
                      opcode == Opcode::kDynamicSlice;
  return passes ? instruction.operands[0] : nullptr;
}

}  // namespace

DisplayNames::DisplayNames(const Module& module, const ModuleRoles& roles) {
  const std::vector<Instruction*> parameters = module.entry()->Parameters();
  for (size_t i = 0; i < parameters.size(); ++i) {
    parameters_[parameters[i]] = {
        roles.parameters[i].name,
        roles.parameters[i].role == ParameterRole::kState};
  }
  for (const auto& computation : module.computations()) {
    for (const auto& instruction : computation->instructions()) {
      const bool is_loop = instruction->opcode == Opcode::kWhile;
      if (!is_loop && instruction->opcode != Opcode::kCall) continue;
      for (const Computation* called : instruction->called) {
        const std::vector<Instruction*> inner = called->Parameters();
        for (size_t i = 0; i < inner.size(); ++i) {
          const Instruction* const given =
              instruction->operands[is_loop ? 0 : i];
          const auto [entry, is_new] = arguments_.try_emplace(inner[i], given);
          if (!is_new && entry->second != given) entry->second = nullptr;
        }
      }
    }
  }
}

const DisplayNames::Parameter* DisplayNames::Behind(
    const Instruction* value) const {
  // Tuple indices that lead to it, outermost last.
  std::vector<int64_t> elements;
  for (int link = 0; link < kMostLinks && value != nullptr; ++link) {
    if (value->opcode == Opcode::kParameter) {
      const auto own = parameters_.find(value);
      if (own != parameters_.end()) return &own->second;
      const auto given = arguments_.find(value);
      if (given == arguments_.end()) return nullptr;
      value = given->second;
    } else if (value->opcode == Opcode::kGetTupleElement) {
      elements.push_back(value->attributes->tuple_index);
      value = value->operands[0];
    } else if (value->opcode == Opcode::kTuple && !elements.empty()) {
      value = value->operands[elements.back()];
      elements.pop_back();
    } else {
      value = PassedOn(*value);
    }
  }
  return nullptr;
}

std::string DisplayNames::Of(const Instruction& instruction) const {
  const auto own = parameters_.find(&instruction);
  if (own != parameters_.end()) return own->second.name;
  OpName name = ParseOpName(instruction.metadata.op_name);
  if (!name.scopes.empty()) return name.ToString();
  const Parameter* behind = nullptr;
  for (const Instruction* operand : instruction.operands) {
    const Parameter* const one = Behind(operand);
    if (one == nullptr) continue;
    if (behind == nullptr || (one->is_state && !behind->is_state)) behind = one;
  }
  if (behind == nullptr) {
    return absl::StrCat(instruction.name, name.Remark());
  }
  if (name.op.empty()) name.op = std::string(instruction.opcode_name());
  return absl::StrCat(name.op, "(", behind->name, ")", name.Remark());
}

std::string DisplayNames::WithHloName(const Instruction& instruction) const {
  const std::string name = Of(instruction);
  return absl::StartsWith(name, instruction.name)
             ? name
             : absl::StrCat(name, " [", instruction.name, "]");
}

}  // namespace meshwright
