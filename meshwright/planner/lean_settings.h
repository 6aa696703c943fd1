// Which meshes and micro-batch counts may need the least memory.
#ifndef MESHWRIGHT_PLANNER_LEAN_SETTINGS_H_
#define MESHWRIGHT_PLANNER_LEAN_SETTINGS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "meshwright/planner/search_policy.h"

namespace meshwright {

struct LeanSetting {
  int64_t least = 0;  // Bytes per device, as the search counts.
  size_t variant =
      0;  // Index into the list of variants, fewest micro-batches first.
  size_t mesh = 0;  // Index into the list of meshes.
};

// A memory limit in bytes that never binds.
inline constexpr int64_t kNoLimit = int64_t{1} << 60;

// The first few and the last few of an ascending list of micro-batch counts.
std::vector<int64_t> CountsOfLeast(const std::vector<int64_t>& counts,
                                   const SearchPolicy& policy);

// Sorts by `least`, ascending, and keeps the first few.
void SortLeanSettings(const SearchPolicy& policy,
                      std::vector<LeanSetting>& settings);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_LEAN_SETTINGS_H_
