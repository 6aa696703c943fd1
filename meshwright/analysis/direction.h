// Which instructions of a step's micro-batch program are its forward pass:
// those that the loss depends on. All others are backward.
//
// Instructions that are neither (a metric that the loss does not depend on)
// count as backward, since they can wait for it.
#ifndef MESHWRIGHT_ANALYSIS_DIRECTION_H_
#define MESHWRIGHT_ANALYSIS_DIRECTION_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

// By instruction id: whether these elements of the root, a tuple, depend on it.
std::vector<bool> NeededBy(const Computation& computation,
                           absl::Span<const int64_t> outputs);

}  // namespace meshwright

#endif  // MESHWRIGHT_ANALYSIS_DIRECTION_H_
