// scaled-dot: as dot, but along what is summed up blocks stay in one piece.
#include <numeric>

#include "meshwright/hlo/scaled_dot_numbers.h"
#include "meshwright/rules/families.h"

namespace meshwright {
namespace {

// Parts of a summed dimension of `size` that no block is cut by.
int64_t PartsOf(int64_t size, int64_t lhs_blocks, int64_t rhs_blocks) {
  if (lhs_blocks == 1 && rhs_blocks == 1) return size;
  if (lhs_blocks == 1) return rhs_blocks;
  if (rhs_blocks == 1) return lhs_blocks;
  return std::gcd(lhs_blocks, rhs_blocks);
}

// The factors of a scale, given those of what it scales.
TensorFactors ScaleFactors(const Shape& scale, const TensorFactors& operand,
                           Rule& rule) {
  TensorFactors factors;
  for (int64_t i = 0; i < scale.rank(); ++i) {
    const int64_t size = scale.dimensions[i];
    const int32_t parts = operand[i][0];
    const int64_t rest = size / rule.factors[parts].size;
    if (size % rule.factors[parts].size != 0) {
      factors.push_back({rule.AddFactor(size, FactorKind::kWhole)});
    } else if (rest == 1) {
      factors.push_back({parts});
    } else {
      factors.push_back({parts, rule.AddFactor(rest, FactorKind::kWhole)});
    }
  }
  return factors;
}

}  // namespace

std::optional<Rule> ScaledDotFactors(const Instruction& instruction) {
  const std::optional<DotDimensionNumbers> numbers =
      ScaledDotNumbersOf(instruction);
  if (!numbers.has_value()) return std::nullopt;
  Rule rule = DotRule(*numbers, instruction.operand_shape(0),
                      instruction.operand_shape(1));
  for (size_t i = 0; i < numbers->lhs_contracting.size(); ++i) {
    const int64_t left = numbers->lhs_contracting[i];
    const int64_t right = numbers->rhs_contracting[i];
    const int32_t summed = rule.operands[0][left][0];
    const int64_t size = rule.factors[summed].size;
    const int64_t parts =
        PartsOf(size, instruction.operand_shape(2).dimensions[left],
                instruction.operand_shape(3).dimensions[right]);
    rule.factors[summed].size = parts;
    rule.factors[summed].may_pad = false;  // Scales of padding are garbage.
    if (parts == size) continue;
    const int32_t block = rule.AddFactor(size / parts, FactorKind::kWhole);
    rule.operands[0][left].push_back(block);
    rule.operands[1][right].push_back(block);
  }
  for (const int32_t side : {0, 1}) {
    rule.operands.push_back(ScaleFactors(instruction.operand_shape(2 + side),
                                         rule.operands[side], rule));
  }
  rule.linear.clear();  // Sums of 8-bit floats are not such.
  return rule;
}

}  // namespace meshwright
