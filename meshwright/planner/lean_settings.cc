#include "meshwright/planner/lean_settings.h"

#include <algorithm>
#include <tuple>

#include "meshwright/planner/search_policy.h"

namespace meshwright {
std::vector<int64_t> CountsOfLeast(const std::vector<int64_t>& counts) {
  if (counts.size() <= kSearchPolicy.lean.max_counts) return counts;
  std::vector<int64_t> kept(counts.end() - (kSearchPolicy.lean.max_counts - 1),
                            counts.end());
  kept.insert(kept.begin(), counts[0]);
  return kept;
}

void SortLeanSettings(std::vector<LeanSetting>& settings) {
  std::stable_sort(settings.begin(), settings.end(),
                   [](const LeanSetting& a, const LeanSetting& b) {
                     return std::tie(a.least, a.count) <
                            std::tie(b.least, b.count);
                   });
  if (settings.size() > kSearchPolicy.lean.max_settings)
    settings.resize(kSearchPolicy.lean.max_settings);
}

}  // namespace meshwright
