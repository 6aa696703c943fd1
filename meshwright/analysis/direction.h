// Which instructions of a step's micro-batch program are its forward pass: what
// the loss is made of. All others are backward.
//
// Instructions that are neither (a metric that the loss does not need) count as
// backward: they may wait for it.
#ifndef MESHWRIGHT_ANALYSIS_DIRECTION_H_
#define MESHWRIGHT_ANALYSIS_DIRECTION_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

// By instruction id: whether these elements of the root, a tuple, need it.
std::vector<bool> NeededBy(const Computation& computation,
                           absl::Span<const int64_t> outputs);

// Stages of about equal work: forward instructions in their order, each stage
// taking the next; what is made of state alone goes to its first user. By
// instruction id, -1 for those that are not forward.
// `is_data`, by parameter: given anew in every step.
std::vector<int32_t> BalancedStages(const Module& module,
                                    const std::vector<bool>& forward,
                                    const std::vector<bool>& is_data,
                                    int32_t stages);

}  // namespace meshwright

#endif  // MESHWRIGHT_ANALYSIS_DIRECTION_H_
