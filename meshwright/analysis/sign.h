// Which floating-point parameters must be non-negative for the step to stay
// finite.
//
//   sqrt(0.999 * nu + 0.001 * g * g)   // AdamW: nu must not, g may
//   rsqrt(variance + 1e-5)             // batch norm: variance must not
//   sqrt(v - 0.001 * sign(v - g * g) * g * g)   // Yogi: v must not
#ifndef MESHWRIGHT_ANALYSIS_SIGN_H_
#define MESHWRIGHT_ANALYSIS_SIGN_H_

#include <cstdint>
#include <set>

#include "meshwright/hlo/module.h"

namespace meshwright {

// The entry's parameters that reach the operand of sqrt, rsqrt, log or power
// through nothing but sums and differences, constant factors and data movement.
// Requires: `module` passed Verify.
std::set<int64_t> NonNegativeParameters(const Module& module);

}  // namespace meshwright

#endif  // MESHWRIGHT_ANALYSIS_SIGN_H_
