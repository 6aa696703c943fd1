#include "meshwright/rules/recorded_flops.h"

#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace meshwright {
namespace {

const std::string* FlopsText(const Instruction& instruction) {
  if (instruction.opcode != Opcode::kCustomCall) return nullptr;
  const auto found = instruction.frontend_attributes.find(kFlopsAttribute);
  return found == instruction.frontend_attributes.end() ? nullptr
                                                        : &found->second;
}

}  // namespace

std::optional<double> RecordedFlops(const Instruction& instruction) {
  const std::string* text = FlopsText(instruction);
  double flops = 0;
  if (text == nullptr || !absl::SimpleAtod(*text, &flops) ||
      !std::isfinite(flops) || flops < 0) {
    return std::nullopt;
  }
  return flops;
}

std::string WrongFlops(const Instruction& instruction) {
  const std::string* text = FlopsText(instruction);
  if (text == nullptr || RecordedFlops(instruction).has_value()) return "";
  return absl::StrCat("its ", kFlopsAttribute, " '", *text,
                      "': expected a number of operations");
}

void ScaleRecordedFlops(const LocalOp& op, const Mesh& mesh,
                        Instruction& local) {
  std::optional<double> flops = RecordedFlops(op.instruction);
  if (!flops.has_value()) return;
  for (size_t i = 0; i < op.rule.factors.size(); ++i) {
    const Factor& factor = op.rule.factors[i];
    // Empty results, and factors that are tied to another, count nothing.
    if (factor.size == 0 || factor.tied >= 0) continue;
    *flops *= static_cast<double>(LocalFactorSize(
                  op.rule, op.strategy, static_cast<int32_t>(i), mesh)) /
              static_cast<double>(factor.size);
  }
  // 17 digits give back the same number.
  local.frontend_attributes[kFlopsAttribute] = absl::StrFormat("%.17g", *flops);
}

}  // namespace meshwright
