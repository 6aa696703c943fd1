// Names for splits, carried from tensor to tensor through rules.
//
//   [65536 m, 1280 n] -reshape-> [64 m, 1024 -, 1280 n]
//
// A label on a dimension means: when the label is split into p parts, the
// dimension is split into p contiguous blocks. It rests on the dimension's
// major factor, so it passes a reshape when p divides that factor's size.
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

// The factor that a contiguous split of a dimension splits: its first that is
// larger than 1; -1 if all are 1.
int32_t MajorFactor(const Rule& rule, const DimFactors& dim);

// Puts the labels of a tensor on the factors they split. False if a factor
// would get two labels, or a label two factors (but for tied ones).
bool AddLabels(const Rule& rule, const TensorFactors& tensor,
               const DimLabels& labels, FactorLabels& factors);

// The labels of a tensor whose factors have these. Factors that `rule` does not
// keep (reduced, whole, exchanged) give none.
DimLabels LabelsOf(const Rule& rule, const TensorFactors& tensor,
                   const FactorLabels& factors);

// Whether a labelled factor is a minor part of some dimension: splitting it
// would leave that tensor split in strides.
bool SplitsInStrides(const Rule& rule, const FactorLabels& factors);

// From one tensor of a rule to another; all none where AddLabels fails.
DimLabels Carried(const Rule& rule, const TensorFactors& from,
                  const DimLabels& labels, const TensorFactors& to);

bool AnyLabel(const std::vector<Label>& labels);

}  // namespace meshwright

#endif  // MESHWRIGHT_ANALYSIS_DIM_LABELS_H_
