// Which meshes and numbers of micro-batches may take least memory.
#ifndef MESHWRIGHT_PLANNER_LEAN_SETTINGS_H_
#define MESHWRIGHT_PLANNER_LEAN_SETTINGS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace meshwright {

struct LeanSetting {
  int64_t least = 0;  // Bytes on a device, as the search counts.
  int64_t count = 1;  // Of micro-batches.
  size_t mesh = 0;    // Into the list of meshes.
};

// Bytes that are as good as any number.
inline constexpr int64_t kNoLimit = int64_t{1} << 60;

// Of ascending numbers of micro-batches the first and the last ones.
std::vector<int64_t> CountsOfLeast(const std::vector<int64_t>& counts);

// The first few, least first.
void SortLeanSettings(std::vector<LeanSetting>& settings);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_LEAN_SETTINGS_H_
