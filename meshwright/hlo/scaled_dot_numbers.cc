#include "meshwright/hlo/scaled_dot_numbers.h"

#include <algorithm>
#include <vector>

namespace meshwright {
namespace {

constexpr char kTarget[] = "__op$block_scaled_dot";

// [b,m,k] and [b,n,k], or without b.
std::optional<DotDimensionNumbers> NumbersOfCall(
    const Instruction& instruction) {
  const int64_t rank = instruction.operand_shape(0).rank();
  if (rank != 2 && rank != 3) return std::nullopt;
  DotDimensionNumbers numbers;
  numbers.lhs_contracting = numbers.rhs_contracting = {rank - 1};
  if (rank == 3) numbers.lhs_batch = numbers.rhs_batch = {0};
  return numbers;
}

bool IsScaleOf(const Shape& scale, const Shape& shape,
               const std::vector<int64_t>& contracting) {
  if (!scale.IsArray() || scale.rank() != shape.rank()) return false;
  if (std::ranges::all_of(scale.dimensions,
                          [](int64_t size) { return size == 1; })) {
    return true;
  }
  for (int64_t i = 0; i < shape.rank(); ++i) {
    const bool in_blocks = std::ranges::count(contracting, i) > 0;
    const int64_t blocks = scale.dimensions[i];
    const int64_t size = shape.dimensions[i];
    if (in_blocks ? blocks == 0 || size % blocks != 0 : blocks != size) {
      return false;
    }
  }
  return true;
}

bool HaveSameSizes(const Shape& lhs, const std::vector<int64_t>& left,
                   const Shape& rhs, const std::vector<int64_t>& right) {
  return std::ranges::equal(left, right, [&](int64_t i, int64_t j) {
    return i < lhs.rank() && j < rhs.rank() &&
           lhs.dimensions[i] == rhs.dimensions[j];
  });
}

}  // namespace

bool IsBlockScaledDot(const Instruction& instruction) {
  return instruction.opcode == Opcode::kCustomCall &&
         instruction.attributes->custom_call_target == kTarget;
}

std::optional<DotDimensionNumbers> ScaledDotNumbersOf(
    const Instruction& instruction) {
  const bool is_call = IsBlockScaledDot(instruction);
  if (!is_call && instruction.opcode != Opcode::kScaledDot) return std::nullopt;
  if (instruction.operands.size() != 4 || !instruction.shape.IsArray()) {
    return std::nullopt;
  }
  const Shape& lhs = instruction.operand_shape(0);
  const Shape& rhs = instruction.operand_shape(1);
  if (!lhs.IsArray() || !rhs.IsArray()) return std::nullopt;
  const std::optional<DotDimensionNumbers> numbers =
      is_call ? NumbersOfCall(instruction) : instruction.attributes->dot;
  if (!numbers.has_value() ||
      !HaveSameSizes(lhs, numbers->lhs_contracting, rhs,
                     numbers->rhs_contracting) ||
      !HaveSameSizes(lhs, numbers->lhs_batch, rhs, numbers->rhs_batch) ||
      !IsScaleOf(instruction.operand_shape(2), lhs, numbers->lhs_contracting) ||
      !IsScaleOf(instruction.operand_shape(3), rhs, numbers->rhs_contracting)) {
    return std::nullopt;
  }
  return numbers;
}

}  // namespace meshwright
