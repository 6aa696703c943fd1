#include "meshwright/rules/grouped_gemm.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "meshwright/rules/families.h"
#include "meshwright/rules/gemm_calls.h"
#include "meshwright/rules/local_index.h"
#include "meshwright/rules/ragged_groups.h"

namespace meshwright {
namespace {

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

std::optional<Rule> GroupedGemmFactors(const Instruction& instruction) {
  const std::optional<GroupedForm> form = ReadGroupedForm(instruction);
  const std::vector<const Shape*> results = Leaves(instruction.shape);
  if (!form.has_value() || results.empty()) return std::nullopt;
  const Shape& lhs = instruction.operand_shape(kGemmLhs);
  const Shape& rhs = instruction.operand_shape(kGemmRhs);
  Rule rule;
  // What was copied to the host before is of all rows.
  const bool splits_rows = !GemmFlag(instruction, "use_async_d2h_group_sizes");
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
        i == kGemmLhs   ? Joined(rows, columns)
        : i == kGemmRhs ? others
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
  const int32_t rows = op.rule.operands[kGemmLhs][0][0];
  absl::flat_hash_map<Instruction*, Instruction*> local_sizes;
  for (int32_t i = kGroupSizes; i < kGroupSizesEnd; ++i) {
    Instruction*& sizes = operands[i];
    if (!op.IsSplit(rows) || ElementCount(sizes->shape) == 0) continue;
    Instruction*& local = local_sizes[sizes];
    if (local == nullptr) {
      const GroupBounds bounds =
          WithinBlock(BoundsOf(sizes, builder), BlockStart(op, rows, builder),
                      operands[kGemmLhs]->shape.dimensions[0], builder);
      local = builder.Convert(
          sizes->shape.element_type,
          builder.Binary(Opcode::kSubtract, bounds.end, bounds.start));
    }
    sizes = local;
  }
  Attributes attributes = *op.instruction.attributes;
  std::string& config = attributes.backend_config;
  for (const auto& [name, operand] :
       {std::pair("lhs", kGemmLhs), std::pair("rhs", kGemmRhs)}) {
    const std::vector<int64_t>& sizes = operands[operand]->shape.dimensions;
    const int64_t boundary =
        GemmNumber(op.instruction, absl::StrCat(name, "_axis_boundary"))
            .value_or(0);
    for (const bool is_left : {true, false}) {
      int64_t product = 1;
      for (int64_t i = 0; i < std::ssize(sizes); ++i) {
        if ((i < boundary) == is_left) product *= sizes[i];
      }
      size_t at = 0;
      const std::optional<int64_t> whole = GemmNumber(
          config, absl::StrCat(name, is_left ? "_left_size" : "_right_size"),
          at);
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
