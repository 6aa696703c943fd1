#include "meshwright/rules/library_gemm.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "meshwright/rules/families.h"
#include "meshwright/rules/local_index.h"

namespace meshwright {
namespace {

// Operands.
constexpr int32_t kLhs = 0;
constexpr int32_t kLhsScale = 1;
constexpr int32_t kRhs = 2;
constexpr int32_t kRhsScale = 3;
constexpr int32_t kBias = 4;
// Results.
constexpr size_t kBiasGradient = 1;

// `name = 2 : i64` of the attributes.
std::optional<int64_t> GemmNumber(const Instruction& instruction,
                                  absl::string_view name) {
  const absl::string_view config = instruction.attributes->backend_config;
  const std::string key = absl::StrCat(name, " = ");
  const size_t found = config.find(key);
  if (found == absl::string_view::npos) return std::nullopt;
  const char* begin = config.data() + found + key.size();
  int64_t number = 0;
  const auto read =
      std::from_chars(begin, config.data() + config.size(), number);
  if (read.ec != std::errc()) return std::nullopt;
  return number;
}

bool GemmFlag(const Instruction& instruction, absl::string_view name) {
  return absl::StrContains(instruction.attributes->backend_config,
                           absl::StrCat(name, " = true"));
}

// Rows and columns in whose multiples blocks of scales are laid out.
constexpr int64_t kUnit = 128;

// The dimensions of one side.
struct GemmSide {
  std::vector<int64_t> sizes;
  int64_t boundary = 0;
  bool contracts_first = false;  // What is before the boundary.

  // The last dimension that is contracted, or that is not.
  int64_t Last(bool contracted) const {
    return contracted == contracts_first ? boundary - 1 : std::ssize(sizes) - 1;
  }
  bool IsLast(int64_t dimension) const {
    return dimension == boundary - 1 || dimension == std::ssize(sizes) - 1;
  }

  bool IsContracted(int64_t dimension) const {
    return (dimension < boundary) == contracts_first;
  }
  std::vector<int64_t> Contracted() const {
    std::vector<int64_t> found;
    for (int64_t i = 0; i < std::ssize(sizes); ++i) {
      if (IsContracted(i)) found.push_back(sizes[i]);
    }
    return found;
  }
};

std::optional<GemmSide> ReadSide(const Instruction& instruction,
                                 int32_t operand) {
  const bool is_lhs = operand == kLhs;
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

bool IsLibraryGemm(const Instruction& instruction) {
  const std::string& target = instruction.attributes->custom_call_target;
  return instruction.opcode == Opcode::kCustomCall &&
         (target == "te_gemm_ffi" || target == "te_gemm_v2_ffi");
}

double LibraryGemmFlops(const Instruction& instruction) {
  if (!IsLibraryGemm(instruction) || instruction.operands.size() <= kRhs) {
    return 0;
  }
  const std::optional<GemmSide> lhs = ReadSide(instruction, kLhs);
  if (!lhs.has_value()) return 0;
  double flops = 2;
  for (const int64_t size : lhs->Contracted()) {
    flops *= static_cast<double>(size);
  }
  const Shape* output = Leaves(instruction.shape)[0];
  return flops * static_cast<double>(ElementCount(*output));
}

std::optional<Rule> LibraryGemmFactors(const Instruction& instruction) {
  const std::vector<const Shape*> results = Leaves(instruction.shape);
  if (instruction.operands.size() <= kBias || results.size() < 2 ||
      GemmNumber(instruction, "collective_op").value_or(0) != 0) {
    return std::nullopt;
  }
  const std::optional<GemmSide> lhs = ReadSide(instruction, kLhs);
  const std::optional<GemmSide> rhs = ReadSide(instruction, kRhs);
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
    if (i == kLhs || i == kRhs) {
      rule.operands.push_back(factors.sides[i == kLhs ? 0 : 1]);
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
  for (const int32_t side : {kLhs, kRhs}) {
    const std::optional<GemmSide> read = ReadSide(op.instruction, side);
    const Scales scales = ScalesOf(op.instruction, *read, side + 1);
    if (scales == Scales::kTensor) continue;
    operands[side + 1] = LocalScales(op, *read, side, scales, builder);
  }
  return operands;
}

}  // namespace meshwright
