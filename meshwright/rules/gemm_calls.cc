#include "meshwright/rules/gemm_calls.h"

#include <charconv>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace meshwright {
namespace {

constexpr int32_t kGroupBias = 4;

bool HasSizes(const Instruction& instruction, int32_t operand) {
  return ElementCount(instruction.operand_shape(operand)) > 0;
}

}  // namespace

bool IsLibraryGemm(const Instruction& instruction) {
  const std::string& target = instruction.attributes->custom_call_target;
  return instruction.opcode == Opcode::kCustomCall &&
         (target == "te_gemm_ffi" || target == "te_gemm_v2_ffi");
}

double LibraryGemmFlops(const Instruction& instruction) {
  if (!IsLibraryGemm(instruction) || instruction.operands.size() <= kGemmRhs) {
    return 0;
  }
  const std::optional<GemmSide> lhs = ReadGemmSide(instruction, kGemmLhs);
  if (!lhs.has_value()) return 0;
  double flops = 2;
  for (const int64_t size : lhs->Contracted()) {
    flops *= static_cast<double>(size);
  }
  const Shape* output = Leaves(instruction.shape)[0];
  return flops * static_cast<double>(ElementCount(*output));
}

bool IsGroupedGemm(const Instruction& instruction) {
  const std::string& target = instruction.attributes->custom_call_target;
  return instruction.opcode == Opcode::kCustomCall &&
         (target == "te_grouped_gemm_ffi" ||
          target == "te_grouped_gemm_v2_ffi");
}

double GroupedGemmFlops(const Instruction& instruction) {
  const std::optional<GroupedForm> form = ReadGroupedForm(instruction);
  if (!form.has_value()) return 0;
  const auto elements = [](const Shape& shape) {
    return static_cast<double>(ElementCount(shape));
  };
  const Shape& rows = instruction.operand_shape(kGemmLhs);
  const Shape& others = instruction.operand_shape(kGemmRhs);
  const auto counted = static_cast<double>(
      form->is_gradient ? rows.dimensions[0] : form->groups);
  // [M,K] by [M,N], or by [G,K,N] of which a row meets one.
  return form->is_gradient ? 2 * elements(rows) * elements(others) / counted
                           : 2 * static_cast<double>(rows.dimensions[0]) *
                                 elements(others) / counted;
}

std::optional<int64_t> GemmNumber(const std::string& config,
                                  absl::string_view name, size_t& at) {
  const std::string key = absl::StrCat(name, " = ");
  const size_t found = config.find(key);
  if (found == std::string::npos) return std::nullopt;
  at = found + key.size();
  int64_t number = 0;
  const auto read = std::from_chars(config.data() + at,
                                    config.data() + config.size(), number);
  if (read.ec != std::errc()) return std::nullopt;
  return number;
}

std::optional<int64_t> GemmNumber(const Instruction& instruction,
                                  absl::string_view name) {
  size_t at = 0;
  return GemmNumber(instruction.attributes->backend_config, name, at);
}

bool GemmFlag(const Instruction& instruction, absl::string_view name) {
  return absl::StrContains(instruction.attributes->backend_config,
                           absl::StrCat(name, " = true"));
}

std::optional<GemmSide> ReadGemmSide(const Instruction& instruction,
                                     int32_t operand) {
  const bool is_lhs = operand == kGemmLhs;
  const std::string name = is_lhs ? "lhs" : "rhs";
  const std::optional<int64_t> boundary =
      GemmNumber(instruction, name + "_axis_boundary");
  const Shape& shape = instruction.operand_shape(operand);
  if (!boundary.has_value() || !shape.IsArray() || *boundary < 1 ||
      *boundary >= shape.rank()) {
    return std::nullopt;
  }
  const bool transposed = GemmFlag(instruction, name + "_transposed");
  return GemmSide{.sizes = shape.dimensions,
                  .boundary = *boundary,
                  .contracts_first = transposed == is_lhs};
}

std::optional<GroupedForm> ReadGroupedForm(const Instruction& instruction) {
  if (!IsGroupedGemm(instruction) ||
      std::ssize(instruction.operands) <= kGroupSizesEnd ||
      GemmNumber(instruction, "scaling_mode") != 0 ||
      HasSizes(instruction, kGroupBias) ||
      !HasSizes(instruction, kGroupSizes)) {
    return std::nullopt;
  }
  for (const int32_t last :
       {kGroupSizes + 1, kOtherGroupSizes + 1, kOutputGroupSizes + 1}) {
    if (HasSizes(instruction, last)) return std::nullopt;
  }
  if (GemmNumber(instruction, "lhs_axis_boundary") != 1) return std::nullopt;
  const std::optional<int64_t> boundary =
      GemmNumber(instruction, "rhs_axis_boundary");
  if (!boundary.has_value()) return std::nullopt;
  GroupedForm form{
      .is_gradient = HasSizes(instruction, kOtherGroupSizes),
      .groups = ElementCount(instruction.operand_shape(kGroupSizes))};
  const bool rows_first = GemmFlag(instruction, "lhs_is_trans");
  const bool ends_contracted = GemmFlag(instruction, "rhs_is_trans");
  if (form.is_gradient) {
    const bool fits = rows_first && !ends_contracted && *boundary == 1 &&
                      !HasSizes(instruction, kOutputGroupSizes);
    return fits ? std::optional(form) : std::nullopt;
  }
  if (rows_first || !HasSizes(instruction, kOutputGroupSizes) ||
      *boundary < 2) {
    return std::nullopt;
  }
  form.contracted = ends_contracted ? *boundary : 1;
  form.free = ends_contracted ? 1 : *boundary;
  return form;
}

}  // namespace meshwright
