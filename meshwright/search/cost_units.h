// Costs of the search's problems: seconds as integers.
//
//   UnitsOf(1e-6);   // 1'000'000
#ifndef MESHWRIGHT_SEARCH_COST_UNITS_H_
#define MESHWRIGHT_SEARCH_COST_UNITS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "meshwright/base/check.h"
#include "meshwright/reshard/prices.h"
#include "meshwright/solve/problem.h"

namespace meshwright {

inline constexpr double kUnitsPerSecond = 1e12;

inline double SecondsOfUnits(int64_t units) {
  return static_cast<double>(units) / kUnitsPerSecond;
}

// kInfiniteCost for what is forbidden.
inline int64_t UnitsOf(double seconds) {
  MW_CHECK(!std::isnan(seconds));
  if (seconds >= kForbiddenSeconds) return kInfiniteCost;
  return static_cast<int64_t>(
      std::llround(std::min(seconds * kUnitsPerSecond, 1e17)));
}

}  // namespace meshwright

#endif  // MESHWRIGHT_SEARCH_COST_UNITS_H_
