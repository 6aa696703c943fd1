#include "meshwright/rules/grouped_gemm.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "meshwright/rules/families.h"
#include "meshwright/rules/local_index.h"
#include "meshwright/rules/ragged_groups.h"

namespace meshwright {
namespace {

// Operands.
constexpr int32_t kRows = 0;      // The left one.
constexpr int32_t kMatrices = 2;  // The right one.
constexpr int32_t kGroupBias = 4;
constexpr int32_t kRowSizes = 5;       // Of groups, along its first dimension.
constexpr int32_t kOtherRowSizes = 7;  // Of the right one.
constexpr int32_t kOutputSizes = 9;
constexpr int32_t kSizesEnd = 11;

// `name = 2 : i64` of the attributes, at `*at`.
std::optional<int64_t> GroupNumber(const std::string& config,
                                   absl::string_view name,
                                   size_t* at = nullptr) {
  const std::string key = absl::StrCat(name, " = ");
  const size_t found = config.find(key);
  if (found == std::string::npos) return std::nullopt;
  int64_t number = 0;
  const char* begin = config.data() + found + key.size();
  if (std::from_chars(begin, config.data() + config.size(), number).ec !=
      std::errc()) {
    return std::nullopt;
  }
  if (at != nullptr) *at = found + key.size();
  return number;
}

bool Says(const Instruction& instruction, absl::string_view what) {
  return absl::StrContains(instruction.attributes->backend_config, what);
}

struct GroupedForm {
  bool is_gradient = false;  // Of the matrices.
  int64_t groups = 0;
  // The dimensions of the right operand that are contracted begin here; those
  // that are not, there.
  size_t contracted = 0;
  size_t free = 0;
};

bool HasSizes(const Instruction& instruction, int32_t operand) {
  return ElementCount(instruction.operand_shape(operand)) > 0;
}

std::optional<GroupedForm> FormOf(const Instruction& instruction) {
  if (!IsGroupedGemm(instruction) ||
      std::ssize(instruction.operands) <= kSizesEnd ||
      !Says(instruction, "scaling_mode = 0 ") ||
      HasSizes(instruction, kGroupBias) || !HasSizes(instruction, kRowSizes)) {
    return std::nullopt;
  }
  for (const int32_t last :
       {kRowSizes + 1, kOtherRowSizes + 1, kOutputSizes + 1}) {
    if (HasSizes(instruction, last)) return std::nullopt;
  }
  const std::string& config = instruction.attributes->backend_config;
  if (GroupNumber(config, "lhs_axis_boundary") != 1) return std::nullopt;
  const std::optional<int64_t> boundary =
      GroupNumber(config, "rhs_axis_boundary");
  if (!boundary.has_value()) return std::nullopt;
  GroupedForm form{
      .is_gradient = HasSizes(instruction, kOtherRowSizes),
      .groups = ElementCount(instruction.operand_shape(kRowSizes))};
  const bool rows_first = Says(instruction, "lhs_is_trans = true");
  const bool ends_contracted = Says(instruction, "rhs_is_trans = true");
  if (form.is_gradient) {
    const bool fits = rows_first && !ends_contracted && *boundary == 1 &&
                      !HasSizes(instruction, kOutputSizes);
    return fits ? std::optional(form) : std::nullopt;
  }
  if (rows_first || !HasSizes(instruction, kOutputSizes) || *boundary < 2) {
    return std::nullopt;
  }
  form.contracted = ends_contracted ? *boundary : 1;
  form.free = ends_contracted ? 1 : *boundary;
  return form;
}

// A factor for each dimension of `shape` from `first` on.
TensorFactors FactorsFrom(const Shape& shape, size_t first, Rule& rule) {
  TensorFactors factors;
  for (size_t i = first; i < shape.dimensions.size(); ++i) {
    factors.push_back({rule.AddFactor(shape.dimensions[i])});
  }
  return factors;
}

TensorFactors Joined(TensorFactors a, const TensorFactors& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// Of operands and results that are for all devices.
TensorFactors WholeFactors(const Shape& shape, Rule& rule) {
  TensorFactors factors;
  for (const int64_t size : shape.dimensions) {
    factors.push_back({rule.AddFactor(size, FactorKind::kWhole)});
  }
  return factors;
}

bool Fits(const TensorFactors& factors, const Shape& shape, const Rule& rule) {
  return std::ranges::equal(
      factors, shape.dimensions, {},
      [&](const DimFactors& dim) { return rule.factors[dim[0]].size; });
}

}  // namespace

bool IsGroupedGemm(const Instruction& instruction) {
  const std::string& target = instruction.attributes->custom_call_target;
  return instruction.opcode == Opcode::kCustomCall &&
         (target == "te_grouped_gemm_ffi" ||
          target == "te_grouped_gemm_v2_ffi");
}

double GroupedGemmFlops(const Instruction& instruction) {
  const std::optional<GroupedForm> form = FormOf(instruction);
  if (!form.has_value()) return 0;
  const auto elements = [](const Shape& shape) {
    return static_cast<double>(ElementCount(shape));
  };
  const Shape& rows = instruction.operand_shape(kRows);
  const Shape& others = instruction.operand_shape(kMatrices);
  const auto counted = static_cast<double>(
      form->is_gradient ? rows.dimensions[0] : form->groups);
  // [M,K] by [M,N], or by [G,K,N] of which a row meets one.
  return form->is_gradient ? 2 * elements(rows) * elements(others) / counted
                           : 2 * static_cast<double>(rows.dimensions[0]) *
                                 elements(others) / counted;
}

std::optional<Rule> GroupedGemmFactors(const Instruction& instruction) {
  const std::optional<GroupedForm> form = FormOf(instruction);
  const std::vector<const Shape*> results = Leaves(instruction.shape);
  if (!form.has_value() || results.empty()) return std::nullopt;
  const Shape& lhs = instruction.operand_shape(kRows);
  const Shape& rhs = instruction.operand_shape(kMatrices);
  Rule rule;
  // What was copied to the host before is of all rows.
  const bool splits_rows =
      !Says(instruction, "use_async_d2h_group_sizes = true");
  const TensorFactors rows = {{rule.AddFactor(
      lhs.dimensions[0], !splits_rows        ? FactorKind::kWhole
                         : form->is_gradient ? FactorKind::kReduced
                                             : FactorKind::kKept)}};
  const TensorFactors groups = {
      {rule.AddFactor(form->groups, FactorKind::kWhole)}};
  const TensorFactors columns = FactorsFrom(lhs, 1, rule);
  TensorFactors others;
  TensorFactors output;
  if (form->is_gradient) {
    const TensorFactors free = FactorsFrom(rhs, 1, rule);
    others = Joined(rows, free);
    output = Joined(Joined(groups, columns), free);
  } else {
    for (const DimFactors& dim : columns) {
      rule.factors[dim[0]].kind = FactorKind::kReduced;
    }
    const size_t end =
        form->free == 1 ? form->contracted : rhs.dimensions.size();
    TensorFactors free;
    for (size_t i = form->free; i < end; ++i) {
      free.push_back({rule.AddFactor(rhs.dimensions[i])});
    }
    others = form->free == 1 ? Joined(Joined(groups, free), columns)
                             : Joined(Joined(groups, columns), free);
    output = Joined(rows, free);
  }
  if (!Fits(others, rhs, rule) || !Fits(output, *results[0], rule)) {
    return std::nullopt;
  }
  for (int32_t i = 0; i < std::ssize(instruction.operands); ++i) {
    rule.operands.push_back(
        i == kRows       ? Joined(rows, columns)
        : i == kMatrices ? others
                         : WholeFactors(instruction.operand_shape(i), rule));
  }
  rule.results.push_back(output);
  for (size_t i = 1; i < results.size(); ++i) {
    rule.results.push_back(WholeFactors(*results[i], rule));
  }
  return rule;
}

LocalValues LowerGroupedGemm(const LocalOp& op, LocalBuilder& builder) {
  LocalValues operands = op.operands;
  const int32_t rows = op.rule.operands[kRows][0][0];
  absl::flat_hash_map<Instruction*, Instruction*> local_sizes;
  for (int32_t i = kRowSizes; i < kSizesEnd; ++i) {
    Instruction*& sizes = operands[i];
    if (!op.IsSplit(rows) || ElementCount(sizes->shape) == 0) continue;
    Instruction*& local = local_sizes[sizes];
    if (local == nullptr) {
      const GroupBounds bounds =
          WithinBlock(BoundsOf(sizes, builder), BlockStart(op, rows, builder),
                      operands[kRows]->shape.dimensions[0], builder);
      local = builder.Convert(
          sizes->shape.element_type,
          builder.Binary(Opcode::kSubtract, bounds.end, bounds.start));
    }
    sizes = local;
  }
  Attributes attributes = *op.instruction.attributes;
  std::string& config = attributes.backend_config;
  for (const auto& [name, operand] :
       {std::pair("lhs", kRows), std::pair("rhs", kMatrices)}) {
    const std::vector<int64_t>& sizes = operands[operand]->shape.dimensions;
    const int64_t boundary =
        GroupNumber(config, absl::StrCat(name, "_axis_boundary")).value_or(0);
    for (const bool is_left : {true, false}) {
      int64_t product = 1;
      for (int64_t i = 0; i < std::ssize(sizes); ++i) {
        if ((i < boundary) == is_left) product *= sizes[i];
      }
      size_t at = 0;
      const std::optional<int64_t> whole = GroupNumber(
          config, absl::StrCat(name, is_left ? "_left_size" : "_right_size"),
          &at);
      if (!whole.has_value()) continue;
      config.replace(at, absl::StrCat(*whole).size(), absl::StrCat(product));
    }
  }
  std::vector<Shape>& shapes = attributes.operand_shapes_with_layout;
  for (size_t i = 0; i < shapes.size(); ++i) {
    shapes[i].dimensions = operands[i]->shape.dimensions;
  }
  return LowerWith(op, std::move(attributes), std::move(operands), builder);
}

}  // namespace meshwright
