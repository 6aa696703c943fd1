#include "meshwright/rules/divide.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace meshwright {
namespace {

// Sizes, major first, of the digits into which the borders of `parts` cut the
// factor of `size` whose minor neighbours multiply to `below`; none if they do
// not divide it.
std::vector<int64_t> Cut(const DimSharding& parts, int64_t size,
                         int64_t below) {
  std::vector<int64_t> sizes;
  int64_t last = below;
  int64_t border = 1;
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    border *= part->size;
    if (border <= below) continue;
    const int64_t next = std::min(border, below * size);
    if (next % last != 0) return {};
    if (next != last) sizes.push_back(next / last);
    last = next;
  }
  std::reverse(sizes.begin(), sizes.end());
  return sizes;
}

// Puts digits of `sizes` in the place of `factor`, everywhere.
void Replace(int32_t factor, const std::vector<int64_t>& sizes, Rule& rule) {
  DimFactors digits = {factor};
  rule.factors[factor].size = sizes[0];
  for (size_t i = 1; i < sizes.size(); ++i) {
    digits.push_back(static_cast<int32_t>(rule.factors.size()));
    Factor minor = rule.factors[factor];
    minor.size = sizes[i];
    rule.factors.push_back(minor);
  }
  for (auto* tensors : {&rule.operands, &rule.results}) {
    for (TensorFactors& tensor : *tensors) {
      for (DimFactors& dim : tensor) {
        const auto found = std::find(dim.begin(), dim.end(), factor);
        if (found == dim.end()) continue;
        dim.insert(found + 1, digits.begin() + 1, digits.end());
      }
    }
  }
}

bool MayDivide(const Factor& factor) {
  return factor.may_divide && (factor.kind == FactorKind::kKept ||
                               factor.kind == FactorKind::kReduced);
}

}  // namespace

std::optional<Rule> Divided(const Rule& rule, int32_t tensor,
                            const Sharding& sharding) {
  const int32_t operands = static_cast<int32_t>(rule.operands.size());
  const TensorFactors& dims = tensor < operands
                                  ? rule.operands[tensor]
                                  : rule.results[tensor - operands];
  Rule divided = rule;
  bool any = false;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (!IsStrided(sharding.dims[i])) continue;
    int64_t below = 1;
    for (auto factor = dims[i].rbegin(); factor != dims[i].rend(); ++factor) {
      const int64_t size = rule.factors[*factor].size;
      const std::vector<int64_t> sizes = Cut(sharding.dims[i], size, below);
      below *= size;
      if (sizes.size() == 1) continue;
      if (sizes.empty()) {
        if (size == 1) continue;
        return std::nullopt;
      }
      if (!MayDivide(rule.factors[*factor])) return std::nullopt;
      Replace(*factor, sizes, divided);
      any = true;
    }
  }
  if (!any) return std::nullopt;
  return divided;
}

}  // namespace meshwright
