#include "meshwright/hlo/instruction_key.h"

#include "absl/strings/str_cat.h"
#include "meshwright/hlo/kernel_calls.h"
#include "meshwright/hlo/print_attributes.h"
#include "meshwright/hlo/print_module.h"

namespace meshwright {
namespace {

void AppendShape(const Shape& shape, std::string& key) {
  absl::StrAppend(&key, static_cast<int>(shape.element_type), "[");
  for (const int64_t size : shape.dimensions) absl::StrAppend(&key, size, ",");
  for (const Shape& element : shape.tuple_shapes) AppendShape(element, key);
  key += ']';
}

void AppendLiteral(const Literal& literal, std::string& key) {
  AppendShape(literal.shape, key);
  if (literal.shape.layout.has_value()) {
    for (const int64_t dimension : literal.shape.layout->minor_to_major) {
      absl::StrAppend(&key, dimension, ",");
    }
  }
  key += literal.data;
  for (const Literal& element : literal.tuple) AppendLiteral(element, key);
}

}  // namespace

std::string InstructionKeys::Of(const Instruction& instruction) {
  std::string key(instruction.opcode_name());
  AppendShape(instruction.shape, key);
  constexpr PrintOptions kPlain{.metadata = false};
  if (instruction.called.empty()) {
    if (instruction.attributes.has_value() ||
        instruction.sharding.has_value()) {
      internal::AppendAttributes(instruction, kPlain, &key);
    }
  } else {
    Instruction uncalling = instruction;
    uncalling.called.clear();
    internal::AppendAttributes(uncalling, kPlain, &key);
    for (const Computation* called : instruction.called) {
      absl::StrAppend(&key, " calls ", NumberOf(*called));
      if (IsKernel(instruction)) break;  // The others do the same.
    }
  }
  absl::StrAppend(&key, " parameter ", instruction.attributes->parameter_number,
                  " element ", instruction.attributes->tuple_index);
  if (instruction.attributes->literal != nullptr) {
    AppendLiteral(*instruction.attributes->literal, key);
  }
  return key;
}

int64_t InstructionKeys::NumberOf(const Computation& computation) {
  const auto known = numbers_.find(&computation);
  if (known != numbers_.end()) return known->second;
  std::string text;
  for (const auto& instruction : computation.instructions()) {
    absl::StrAppend(&text, Of(*instruction), "(");
    for (const Instruction* operand : instruction->operands) {
      absl::StrAppend(&text, operand->id, ",");
    }
    text += ")\n";
  }
  absl::StrAppend(&text, "root ", computation.root()->id);
  const int64_t number =
      texts_.try_emplace(text, static_cast<int64_t>(texts_.size()))
          .first->second;
  return numbers_[&computation] = number;
}

}  // namespace meshwright
