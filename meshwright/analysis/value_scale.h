// The magnitude of parameters with which a step is well conditioned: values
// neither vanish nor overflow, and gradients do not cancel.
//
//   (x - mean) * rsqrt(variance) * scale + bias   // scale f32[768]: near one
//   x f32[8,768] @ w f32[768,3072]                // w: 3072 products are
//                                                 // summed in x's gradient
#ifndef MESHWRIGHT_ANALYSIS_VALUE_SCALE_H_
#define MESHWRIGHT_ANALYSIS_VALUE_SCALE_H_

#include <cstdint>
#include <map>
#include <set>

#include "meshwright/hlo/module.h"

namespace meshwright {

// Parameter number -> the largest number of products summed by a dot or
// convolution that reads the parameter, possibly rearranged. Requires: `module`
// passed Verify.
std::map<int64_t, int64_t> ContractedSizes(const Module& module);

// The parameters that are broadcast along some dimension and multiply an array.
// Not scalars, which may have any value, such as learning rates. Requires:
// `module` passed Verify.
std::set<int64_t> RepeatedFactors(const Module& module);

}  // namespace meshwright

#endif  // MESHWRIGHT_ANALYSIS_VALUE_SCALE_H_
