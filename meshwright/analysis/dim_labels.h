// Labels for shardings, propagated from tensor to tensor through rules.
//
//   [65536 m, 1280 n] -reshape-> [64 m, 1024 -, 1280 n]
//
// A label on a dimension means: if the label is split into p parts, the
// dimension is split into p contiguous blocks. It belongs to the dimension's
// major factor, so it passes a reshape if p divides that factor's size.
#ifndef MESHWRIGHT_ANALYSIS_DIM_LABELS_H_
#define MESHWRIGHT_ANALYSIS_DIM_LABELS_H_

#include <cstdint>
#include <vector>

#include "meshwright/rules/rule.h"

namespace meshwright {

using Label = int32_t;
inline constexpr Label kNoLabel = -1;
using DimLabels = std::vector<Label>;     // By dimension of a tensor.
using FactorLabels = std::vector<Label>;  // By factor of a rule.

// The factor that a contiguous split of a dimension splits: its first one
// larger than 1; -1 if all are 1.
int32_t MajorFactor(const Rule& rule, const DimFactors& dim);

// Adds the labels of a tensor to the factors they split. False if a factor
// would get two labels, or a label two factors (except tied ones).
bool AddLabels(const Rule& rule, const TensorFactors& tensor,
               const DimLabels& labels, FactorLabels& factors);

// The labels of a tensor, given those of factors. Factors that are not kKept
// give none.
DimLabels LabelsOf(const Rule& rule, const TensorFactors& tensor,
                   const FactorLabels& factors);

// Whether a labelled factor is a minor part of some dimension: splitting it
// would make that tensor's sharding strided.
bool SplitsInStrides(const Rule& rule, const FactorLabels& factors);

// Propagates labels from one tensor of a rule to another; all kNoLabel if
// AddLabels fails.
DimLabels Carried(const Rule& rule, const TensorFactors& from,
                  const DimLabels& labels, const TensorFactors& to);

bool AnyLabel(const std::vector<Label>& labels);

}  // namespace meshwright

#endif  // MESHWRIGHT_ANALYSIS_DIM_LABELS_H_
