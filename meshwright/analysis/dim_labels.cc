#include "meshwright/analysis/dim_labels.h"

#include <algorithm>

namespace meshwright {
namespace {

bool Tied(const Rule& rule, size_t a, size_t b) {
  const auto root = [&](size_t factor) {
    const int32_t tied = rule.factors[factor].tied;
    return tied < 0 ? static_cast<int32_t>(factor) : tied;
  };
  return root(a) == root(b);
}

}  // namespace

int32_t MajorFactor(const Rule& rule, const DimFactors& dim) {
  for (const int32_t factor : dim) {
    if (rule.factors[factor].size > 1) return factor;
  }
  return -1;
}

bool AddLabels(const Rule& rule, const TensorFactors& tensor,
               const DimLabels& labels, FactorLabels& factors) {
  for (size_t i = 0; i < tensor.size(); ++i) {
    const int32_t factor = MajorFactor(rule, tensor[i]);
    if (labels[i] == kNoLabel || factor < 0) continue;
    if (factors[factor] == labels[i]) continue;
    if (factors[factor] != kNoLabel) return false;
    for (size_t other = 0; other < factors.size(); ++other) {
      if (factors[other] == labels[i] && !Tied(rule, other, factor)) {
        return false;
      }
    }
    factors[factor] = labels[i];
  }
  return true;
}

DimLabels LabelsOf(const Rule& rule, const TensorFactors& tensor,
                   const FactorLabels& factors) {
  DimLabels labels(tensor.size(), kNoLabel);
  for (size_t i = 0; i < tensor.size(); ++i) {
    const int32_t factor = MajorFactor(rule, tensor[i]);
    if (factor < 0 || rule.factors[factor].kind != FactorKind::kKept) continue;
    labels[i] = factors[factor];
  }
  return labels;
}

bool SplitsInStrides(const Rule& rule, const FactorLabels& factors) {
  for (const auto* tensors : {&rule.operands, &rule.results}) {
    for (const TensorFactors& tensor : *tensors) {
      for (const DimFactors& dim : tensor) {
        const int32_t major = MajorFactor(rule, dim);
        for (const int32_t factor : dim) {
          if (factor != major && factors[factor] != kNoLabel) return true;
        }
      }
    }
  }
  return false;
}

DimLabels Carried(const Rule& rule, const TensorFactors& from,
                  const DimLabels& labels, const TensorFactors& to) {
  FactorLabels factors(rule.factors.size(), kNoLabel);
  if (!AddLabels(rule, from, labels, factors)) {
    return DimLabels(to.size(), kNoLabel);
  }
  return LabelsOf(rule, to, factors);
}

bool AnyLabel(const std::vector<Label>& labels) {
  return std::any_of(labels.begin(), labels.end(),
                     [](Label label) { return label != kNoLabel; });
}

}  // namespace meshwright
