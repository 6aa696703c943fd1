// How large the values of a parameter should be for a step to be well
// conditioned: neither vanishing nor overflowing, gradients that do not cancel.
//
//   (x - mean) * rsqrt(variance) * scale + bias   // scale f32[768]: near one
//   x f32[8,768] @ w f32[768,3072]                // w: 3072 are added up, in
//                                                 // the gradient of x
#ifndef MESHWRIGHT_ANALYSIS_VALUE_SCALE_H_
#define MESHWRIGHT_ANALYSIS_VALUE_SCALE_H_

#include <cstdint>
#include <map>
#include <set>

#include "meshwright/hlo/module.h"

namespace meshwright {

// Parameter number -> the most products that a dot or convolution which reads
// the parameter, moved at most, adds up. Requires: passed Verify.
std::map<int64_t, int64_t> ContractedSizes(const Module& module);

// The parameters that, repeated along some dimension, multiply an array.
// Scalars are none: they may be anything, such as learning rates. Requires:
// passed Verify.
std::set<int64_t> RepeatedFactors(const Module& module);

}  // namespace meshwright

#endif  // MESHWRIGHT_ANALYSIS_VALUE_SCALE_H_
