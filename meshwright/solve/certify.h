// A lower bound verified in integer arithmetic, from floating-point multipliers
// and messages.
#ifndef MESHWRIGHT_SOLVE_CERTIFY_H_
#define MESHWRIGHT_SOLVE_CERTIFY_H_

#include <cstdint>

#include "absl/types/span.h"
#include "meshwright/solve/core.h"
#include "meshwright/solve/messages.h"

namespace meshwright {

// No assignment within the capacities costs less (`core.constant` included).
// Valid for any multipliers (negative ones count as 0) and any messages.
int64_t CertifiedBound(const Core& core, absl::Span<const double> multipliers,
                       const Messages& messages);

}  // namespace meshwright

#endif  // MESHWRIGHT_SOLVE_CERTIFY_H_
