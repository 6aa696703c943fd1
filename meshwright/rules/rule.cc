#include "meshwright/rules/rule.h"

#include <algorithm>

#include "meshwright/base/check.h"

namespace meshwright {
namespace {

bool Divides(const Rule& rule, const Strategy& strategy, int32_t factor,
             const Mesh& mesh) {
  return rule.factors[factor].size % mesh.Size(strategy.factor_axes[factor]) ==
         0;
}

// Whether `factor` is alone in every dimension that holds it.
bool IsAlone(const Rule& rule, int32_t factor) {
  for (const auto* tensors : {&rule.operands, &rule.results}) {
    for (const TensorFactors& tensor : *tensors) {
      for (const DimFactors& dim : tensor) {
        if (dim.size() > 1 &&
            std::find(dim.begin(), dim.end(), factor) != dim.end()) {
          return false;
        }
      }
    }
  }
  return true;
}

// Whether there is a program for the local sizes.
bool HasVariant(const Rule& rule, const Strategy& strategy, const Mesh& mesh) {
  if (rule.variants.empty()) return true;
  TensorSizes sizes;
  for (const auto* tensors : {&rule.operands, &rule.results}) {
    for (const TensorFactors& tensor : *tensors) {
      const std::vector<int64_t> local =
          LocalDimensions(rule, strategy, tensor, mesh);
      sizes.insert(sizes.end(), local.begin(), local.end());
    }
  }
  return std::ranges::find(rule.variants, sizes) != rule.variants.end();
}

Sharding TensorSharding(const Rule& rule, const Strategy& strategy,
                        const TensorFactors& tensor, const Mesh& mesh) {
  Sharding sharding;
  sharding.dims.reserve(tensor.size());
  std::vector<Part> parts;
  for (const DimFactors& dim : tensor) {
    parts.clear();
    for (const int32_t factor : dim) {
      parts.push_back(
          {rule.factors[factor].size, strategy.factor_axes[factor]});
    }
    sharding.dims.push_back(Normalised(parts, mesh));
  }
  return sharding;
}

}  // namespace

int32_t Rule::AddFactor(int64_t size, FactorKind kind) {
  factors.push_back({.size = size, .kind = kind});
  return static_cast<int32_t>(factors.size()) - 1;
}

Rule PointwiseRule(absl::Span<const int64_t> dimensions, int32_t operands,
                   int32_t results) {
  Rule rule;
  TensorFactors tensor;
  tensor.reserve(dimensions.size());
  rule.factors.reserve(dimensions.size());
  for (const int64_t size : dimensions) {
    const int32_t factor = rule.AddFactor(size);
    rule.factors[factor].may_pad = true;
    rule.factors[factor].may_divide = true;
    tensor.push_back({factor});
  }
  rule.operands.assign(operands, tensor);
  rule.results.assign(results, tensor);
  return rule;
}

Rule FallbackRule(const Instruction& instruction) {
  Rule rule;
  rule.is_fallback = true;
  const auto add = [&](const Shape& shape, std::vector<TensorFactors>& out) {
    for (const Shape* leaf : Leaves(shape)) {
      TensorFactors tensor;
      for (const int64_t size : leaf->dimensions) {
        tensor.push_back({rule.AddFactor(size, FactorKind::kWhole)});
      }
      out.push_back(std::move(tensor));
    }
  };
  for (const Instruction* operand : instruction.operands) {
    add(operand->shape, rule.operands);
  }
  add(instruction.shape, rule.results);
  return rule;
}

Sharding OperandSharding(const Rule& rule, const Strategy& strategy,
                         int32_t index, const Mesh& mesh) {
  Sharding sharding =
      TensorSharding(rule, strategy, rule.operands[index], mesh);
  if (strategy.linear >= 0) {
    const std::vector<int32_t>& pending = rule.linear[strategy.linear].operands;
    if (std::find(pending.begin(), pending.end(), index) != pending.end()) {
      sharding.reduction = strategy.reduction;
      sharding.pending = strategy.pending;
    }
  }
  return sharding;
}

bool Has(const TensorFactors& tensor, int32_t factor) {
  return std::ranges::any_of(tensor, [&](const DimFactors& dim) {
    return std::ranges::find(dim, factor) != dim.end();
  });
}

Sharding ResultSharding(const Rule& rule, const Strategy& strategy,
                        int32_t index, const Mesh& mesh) {
  Sharding sharding = TensorSharding(rule, strategy, rule.results[index], mesh);
  sharding.pending = strategy.pending;
  if (!strategy.pending.empty()) sharding.reduction = strategy.reduction;
  for (int32_t i = 0; i < std::ssize(rule.factors); ++i) {
    const AxisList& axes = strategy.factor_axes[i];
    if (axes.empty() || rule.factors[i].kind != FactorKind::kReduced ||
        Has(rule.results[index], i)) {
      continue;
    }
    sharding.reduction = rule.factors[i].reduction;
    sharding.pending.Append(axes);
  }
  std::sort(sharding.pending.begin(), sharding.pending.end());
  return sharding;
}

void SetAxes(const Rule& rule, int32_t factor, const AxisList& axes,
             Strategy& strategy) {
  const int32_t tied = rule.factors[factor].tied;
  const int32_t first = tied >= 0 ? tied : factor;
  strategy.factor_axes[first] = axes;
  for (size_t i = first; i < rule.factors.size(); ++i) {
    if (rule.factors[i].tied == first) strategy.factor_axes[i] = axes;
  }
}

bool IsValid(const Rule& rule, const Strategy& strategy, const Mesh& mesh) {
  if (strategy.factor_axes.size() != rule.factors.size()) return false;
  uint64_t used = 0;
  const auto use = [&](const AxisList& axes) {
    for (const AxisId axis : axes) {
      if (axis < 0 || axis >= static_cast<int32_t>(mesh.sub_axes().size()) ||
          (used >> axis & 1) != 0) {
        return false;
      }
      used |= uint64_t{1} << axis;
    }
    return true;
  };
  std::optional<Reduction> reduction;
  if (!strategy.pending.empty()) {
    if (strategy.linear < 0 || strategy.linear >= std::ssize(rule.linear) ||
        !use(strategy.pending)) {
      return false;
    }
    const Linear& linear = rule.linear[strategy.linear];
    if (linear.reduction.has_value() &&
        *linear.reduction != strategy.reduction) {
      return false;
    }
    reduction = strategy.reduction;
  } else if (strategy.linear >= 0) {
    return false;
  }
  for (int32_t i = 0; i < static_cast<int32_t>(rule.factors.size()); ++i) {
    const AxisList& axes = strategy.factor_axes[i];
    const Factor& factor = rule.factors[i];
    if (factor.tied >= 0 && axes != strategy.factor_axes[factor.tied]) {
      return false;
    }
    if (i < std::ssize(rule.manual_axes) && mesh.Size(axes) != factor.size) {
      return false;
    }
    if (axes.empty()) continue;
    if (factor.kind == FactorKind::kWhole || factor.size == 0 ||
        (factor.tied < 0 && !use(axes))) {
      return false;
    }
    if (factor.kind == FactorKind::kReduced) {
      if (reduction.has_value() && *reduction != factor.reduction) return false;
      reduction = factor.reduction;
    }
    if (!Divides(rule, strategy, i, mesh) &&
        !(factor.may_pad && IsAlone(rule, i))) {
      return false;
    }
  }
  return HasVariant(rule, strategy, mesh);
}

int64_t LocalFactorSize(const Rule& rule, const Strategy& strategy,
                        int32_t factor, const Mesh& mesh) {
  const int64_t shards = mesh.Size(strategy.factor_axes[factor]);
  return (rule.factors[factor].size + shards - 1) / shards;
}

std::vector<int64_t> LocalDimensions(const Rule& rule, const Strategy& strategy,
                                     const TensorFactors& tensor,
                                     const Mesh& mesh) {
  std::vector<int64_t> dimensions;
  dimensions.reserve(tensor.size());
  for (const DimFactors& dim : tensor) {
    int64_t size = 1;
    for (const int32_t factor : dim) {
      size *= LocalFactorSize(rule, strategy, factor, mesh);
    }
    dimensions.push_back(size);
  }
  return dimensions;
}

}  // namespace meshwright
