// The valid ranges of integer parameters.
//
//   loss(table f32[50257,768], tokens s32[8,1024])  ->  {1: 50257}
//
// A parameter is bounded by what it indexes: start indices of gather and
// scatter, dynamic-slice and dynamic-update-slice offsets, and comparison with
// an iota (one-hot). Arithmetic with constants in between is inverted.
#ifndef MESHWRIGHT_ANALYSIS_INDEX_RANGE_H_
#define MESHWRIGHT_ANALYSIS_INDEX_RANGE_H_

#include <cstdint>
#include <map>

#include "meshwright/hlo/module.h"

namespace meshwright {

// Parameter number -> exclusive upper bound (at least 1), for the entry's
// integer array parameters that index something. Requires: passed Verify.
std::map<int64_t, int64_t> IndexBounds(const Module& module);

}  // namespace meshwright

#endif  // MESHWRIGHT_ANALYSIS_INDEX_RANGE_H_
