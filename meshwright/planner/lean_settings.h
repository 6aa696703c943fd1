// Which meshes and micro-batch counts may need the least memory.
#ifndef MESHWRIGHT_PLANNER_LEAN_SETTINGS_H_
#define MESHWRIGHT_PLANNER_LEAN_SETTINGS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "meshwright/planner/search_policy.h"
#include "meshwright/planner/setting.h"

namespace meshwright {

struct LeanSetting {
  Setting setting;
  int64_t least = 0;  // Bytes per device, as the search counts.
  std::shared_ptr<const StepVariant> variant;
};

// A memory limit in bytes that never binds.
inline constexpr int64_t kNoLimit = int64_t{1} << 60;

// The first few and the last few of an ascending list of micro-batch counts.
std::vector<int64_t> CountsOfLeast(const std::vector<int64_t>& counts,
                                   const SearchPolicy& policy);

// Sorts by `least`, ascending, those of fewer micro-batches first; keeps the
// first few.
void SortLeanSettings(const SearchPolicy& policy,
                      std::vector<LeanSetting>& settings);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_LEAN_SETTINGS_H_
