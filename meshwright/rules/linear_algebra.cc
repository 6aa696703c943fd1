// fft, cholesky, triangular-solve: batches of independent problems. Only the
// problem's own dimensions must be whole.
#include <algorithm>

#include "meshwright/rules/families.h"

namespace meshwright {
namespace {

// Kept factors for the first `count` dimensions of `shape`.
TensorFactors BatchFactors(const Shape& shape, int64_t count, Rule& rule) {
  TensorFactors tensor;
  for (int64_t i = 0; i < count; ++i) {
    const int32_t factor = rule.AddFactor(shape.dimensions[i]);
    rule.factors[factor].may_pad = true;
    tensor.push_back({factor});
  }
  return tensor;
}

// `batch`, then a whole factor for each further dimension of `shape`.
TensorFactors WithWhole(TensorFactors batch, const Shape& shape, Rule& rule) {
  for (int64_t i = static_cast<int64_t>(batch.size()); i < shape.rank(); ++i) {
    batch.push_back({rule.AddFactor(shape.dimensions[i], FactorKind::kWhole)});
  }
  return batch;
}

}  // namespace

std::optional<Rule> FftFactors(const Instruction& instruction) {
  const Shape& input = instruction.operand_shape(0);
  const int64_t transformed =
      static_cast<int64_t>(instruction.attributes->fft_length.size());
  Rule rule;
  const TensorFactors batch =
      BatchFactors(input, input.rank() - transformed, rule);
  rule.operands = {WithWhole(batch, input, rule)};
  rule.results = {WithWhole(batch, instruction.shape, rule)};
  rule.linear = {{Reduction::kSum, {0}}};
  return rule;
}

std::optional<Rule> CholeskyFactors(const Instruction& instruction) {
  const Shape& input = instruction.operand_shape(0);
  Rule rule;
  const TensorFactors batch = BatchFactors(input, input.rank() - 2, rule);
  rule.operands = {WithWhole(batch, input, rule)};
  rule.results = rule.operands;
  return rule;
}

std::optional<Rule> TriangularSolveFactors(const Instruction& instruction) {
  const Shape& a = instruction.operand_shape(0);
  const Shape& b = instruction.operand_shape(1);
  if (!instruction.attributes->triangular_solve.has_value()) {
    return std::nullopt;
  }
  Rule rule;
  const TensorFactors batch = BatchFactors(a, a.rank() - 2, rule);
  TensorFactors right = WithWhole(batch, b, rule);
  // Each right-hand side is a problem of its own.
  const bool left_side = instruction.attributes->triangular_solve->left_side;
  Factor& other =
      rule.factors[left_side ? right.back()[0] : right[right.size() - 2][0]];
  other.kind = FactorKind::kKept;
  other.may_pad = true;
  rule.operands = {WithWhole(batch, a, rule), right};
  rule.results = {right};
  rule.linear = {{Reduction::kSum, {1}}};
  return rule;
}

}  // namespace meshwright
