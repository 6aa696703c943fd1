#include "meshwright/hlo/instruction_key.h"

#include <utility>

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
  if (!instruction.called.empty() || instruction.attributes.has_value() ||
      instruction.sharding.has_value()) {
    internal::AppendPlainAttributes(instruction, &key);
  }
  for (const Computation* called : instruction.called) {
    absl::StrAppend(&key, " calls ", NumberOf(*called));
    if (IsKernel(instruction)) break;  // The other variants compute the same.
  }
  AppendDevices(*instruction.attributes, key);
  absl::StrAppend(&key, " parameter ", instruction.attributes->parameter_number,
                  " element ", instruction.attributes->tuple_index);
  if (instruction.attributes->literal != nullptr) {
    AppendLiteral(*instruction.attributes->literal, key);
  }
  return key;
}

void InstructionKeys::AppendDevices(const Attributes& attributes,
                                    std::string& key) {
  if (!attributes.replica_groups.empty()) {
    const auto number = static_cast<int64_t>(groups_.size());
    absl::StrAppend(
        &key, " groups ",
        groups_.try_emplace(attributes.replica_groups, number).first->second);
  }
  if (!attributes.source_target_pairs.empty()) {
    std::vector<std::pair<int64_t, int64_t>> pairs;
    for (const SourceTarget& pair : attributes.source_target_pairs) {
      pairs.emplace_back(pair.source, pair.target);
    }
    const auto number = static_cast<int64_t>(pairs_.size());
    absl::StrAppend(&key, " pairs ",
                    pairs_.try_emplace(std::move(pairs), number).first->second);
  }
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
