#include "meshwright/rules/library_gemm.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "meshwright/rules/families.h"
#include "meshwright/rules/gemm_calls.h"
#include "meshwright/rules/local_index.h"

namespace meshwright {
namespace {

// Operands.
constexpr int32_t kLhsScale = 1;
constexpr int32_t kRhsScale = 3;
constexpr int32_t kBias = 4;
// Results.
constexpr size_t kBiasGradient = 1;

// Rows and columns in whose multiples blocks of scales are laid out.
constexpr int64_t kUnit = 128;

TensorFactors WholeTensor(const Shape& shape, Rule& rule) {
  TensorFactors tensor;
  for (const int64_t size : shape.dimensions) {
    tensor.push_back({rule.AddFactor(size, FactorKind::kWhole)});
  }
  return tensor;
}

std::vector<int64_t> SizesOf(const TensorFactors& tensor, const Rule& rule) {
  std::vector<int64_t> sizes;
  for (const DimFactors& dim : tensor) {
    int64_t size = 1;
    for (const int32_t factor : dim) size *= rule.factors[factor].size;
    sizes.push_back(size);
  }
  return sizes;
}

// What scales are for. Blocks are of elements that follow each other along the
// contracted dimensions.
enum class Scales {
  kTensor,    // One, or none.
  kByBlock,   // The dimensions of the side, the last contracted one in blocks.
  kSwizzled,  // The same, in the order that cuBLAS reads: [rows / 128,
              // blocks / 4, 32, 4, 4], rows being what is not contracted.
  kUnknown,
};

constexpr int64_t kMxFp8 = 2;  // A scaling_mode.

Scales ScalesOf(const Instruction& instruction, const GemmSide& side,
                int32_t operand) {
  const Shape& shape = instruction.operand_shape(operand);
  if (ElementCount(shape) <= 1) return Scales::kTensor;
  const int64_t last = side.Last(/*contracted=*/true);
  const bool is_mxfp8 = GemmNumber(instruction, "scaling_mode") == kMxFp8;
  const int64_t block = is_mxfp8 ? 32 : 16;
  std::vector<int64_t> sizes = side.sizes;
  // Others are padded.
  if (sizes[last] % kUnit != 0 || sizes[side.Last(false)] % kUnit != 0) {
    return Scales::kUnknown;
  }
  sizes[last] /= block;
  if (shape.dimensions != sizes) return Scales::kUnknown;
  return is_mxfp8 ? Scales::kSwizzled : Scales::kByBlock;
}

// The factors of both sides and of the output, and where they are contracted.
struct GemmFactors {
  TensorFactors sides[2];
  TensorFactors free[2];
  std::vector<int32_t> contracted;
};

GemmFactors AddGemmFactors(const GemmSide& lhs, const GemmSide& rhs,
                           bool in_units, Rule& rule) {
  GemmFactors factors;
  const bool both = lhs.Contracted() == rhs.Contracted();
  const FactorKind kind = both ? FactorKind::kReduced : FactorKind::kWhole;
  for (const int side : {0, 1}) {
    const GemmSide& of = side == 0 ? lhs : rhs;
    size_t next = 0;
    for (int64_t i = 0; i < std::ssize(of.sizes); ++i) {
      const int64_t unit = in_units && of.IsLast(i) ? kUnit : 1;
      const int64_t size = of.sizes[i] / unit;
      DimFactors dim;
      if (!of.IsContracted(i)) {
        dim = {rule.AddFactor(size)};
      } else if (side == 1 && both) {
        dim = {factors.contracted[next++]};
      } else {
        dim = {rule.AddFactor(size, kind)};
        factors.contracted.push_back(dim[0]);
      }
      if (unit > 1) dim.push_back(rule.AddFactor(unit, FactorKind::kWhole));
      if (!of.IsContracted(i)) factors.free[side].push_back(dim);
      factors.sides[side].push_back(std::move(dim));
    }
  }
  return factors;
}

// This device's part of all scales, which each device has.
Instruction* LocalScales(const LocalOp& op, const GemmSide& side,
                         int32_t operand, Scales scales,
                         LocalBuilder& builder) {
  const TensorFactors& tensor = op.rule.operands[operand];
  Instruction* value = op.operands[operand + 1];
  const int64_t last = side.Last(/*contracted=*/true);
  const int64_t blocks = value->shape.dimensions[last];
  const int64_t block = side.sizes[last] / blocks;
  // The dimensions in their order in memory, what a unit has apart.
  std::vector<int64_t> sizes;
  std::vector<int32_t> factors;  // Or -1.
  const auto add = [&](int64_t i) {
    factors.push_back(tensor[i][0]);
    sizes.push_back(op.rule.factors[tensor[i][0]].size);
  };
  const auto add_unit = [&](int64_t size) {
    factors.push_back(-1);
    sizes.push_back(size);
  };
  if (scales == Scales::kSwizzled) {
    for (const bool contracted : {false, true}) {
      for (int64_t i = 0; i < std::ssize(side.sizes); ++i) {
        if (side.IsContracted(i) == contracted) add(i);
      }
    }
    add_unit(kUnit * kUnit / block);
  } else {
    for (int64_t i = 0; i < std::ssize(side.sizes); ++i) {
      add(i);
      if (side.IsLast(i)) add_unit(i == last ? kUnit / block : kUnit);
    }
  }
  value = builder.Reshape(value, sizes);
  for (size_t i = 0; i < factors.size(); ++i) {
    if (factors[i] < 0 || !op.IsSplit(factors[i])) continue;
    value = builder.DynamicSlice(
        value, static_cast<int64_t>(i), BlockStart(op, factors[i], builder),
        LocalFactorSize(op.rule, op.strategy, factors[i], builder.mesh()));
  }
  std::vector<int64_t> local = op.operands[operand]->shape.dimensions;
  local[last] /= block;
  return builder.Reshape(value, std::move(local));
}

}  // namespace

std::optional<Rule> LibraryGemmFactors(const Instruction& instruction) {
  const std::vector<const Shape*> results = Leaves(instruction.shape);
  if (instruction.operands.size() <= kBias || results.size() < 2 ||
      GemmNumber(instruction, "collective_op").value_or(0) != 0) {
    return std::nullopt;
  }
  const std::optional<GemmSide> lhs = ReadGemmSide(instruction, kGemmLhs);
  const std::optional<GemmSide> rhs = ReadGemmSide(instruction, kGemmRhs);
  if (!lhs.has_value() || !rhs.has_value()) return std::nullopt;
  const Scales scales = ScalesOf(instruction, *lhs, kLhsScale);
  if (scales == Scales::kUnknown ||
      scales != ScalesOf(instruction, *rhs, kRhsScale)) {
    return std::nullopt;
  }
  const bool has_gradient =
      results.size() > 2 && ElementCount(*results[kBiasGradient]) > 0;
  if (has_gradient) return std::nullopt;
  Rule rule;
  const GemmFactors factors =
      AddGemmFactors(*lhs, *rhs, scales != Scales::kTensor, rule);
  TensorFactors output = factors.free[0];
  output.insert(output.end(), factors.free[1].begin(), factors.free[1].end());
  const std::vector<int64_t> output_sizes = SizesOf(output, rule);
  if (results[0]->dimensions != output_sizes) return std::nullopt;
  bool is_plain = true;
  // Others are scalars, or stand for nothing.
  const auto add = [&](const Shape& shape) {
    if (shape.dimensions == output_sizes) {
      is_plain = false;
      return output;
    }
    return WholeTensor(shape, rule);
  };
  for (int32_t i = 0; i < std::ssize(instruction.operands); ++i) {
    const Shape& shape = instruction.operand_shape(i);
    if (i == kGemmLhs || i == kGemmRhs) {
      rule.operands.push_back(factors.sides[i == kGemmLhs ? 0 : 1]);
    } else if (i == kBias &&
               shape.dimensions == SizesOf(factors.free[1], rule)) {
      is_plain = false;
      rule.operands.push_back(factors.free[1]);
    } else {
      rule.operands.push_back(add(shape));
    }
  }
  rule.results.push_back(output);
  for (size_t i = 1; i < results.size(); ++i) {
    rule.results.push_back(add(*results[i]));
  }
  for (const int32_t factor : factors.contracted) {
    if (!is_plain) rule.factors[factor].kind = FactorKind::kWhole;
  }
  return rule;
}

LocalValues LocalGemmOperands(const LocalOp& op, LocalBuilder& builder) {
  LocalValues operands = op.operands;
  for (const int32_t side : {kGemmLhs, kGemmRhs}) {
    const std::optional<GemmSide> read = ReadGemmSide(op.instruction, side);
    const Scales scales = ScalesOf(op.instruction, *read, side + 1);
    if (scales == Scales::kTensor) continue;
    operands[side + 1] = LocalScales(op, *read, side, scales, builder);
  }
  return operands;
}

}  // namespace meshwright
