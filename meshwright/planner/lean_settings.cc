#include "meshwright/planner/lean_settings.h"

#include <algorithm>
#include <tuple>

namespace meshwright {
std::vector<int64_t> CountsOfLeast(const std::vector<int64_t>& counts,
                                   const SearchPolicy& policy) {
  if (counts.size() <= policy.lean.max_counts) return counts;
  std::vector<int64_t> kept(counts.end() - (policy.lean.max_counts - 1),
                            counts.end());
  kept.insert(kept.begin(), counts[0]);
  return kept;
}

void SortLeanSettings(const SearchPolicy& policy,
                      std::vector<LeanSetting>& settings) {
  std::stable_sort(settings.begin(), settings.end(),
                   [](const LeanSetting& a, const LeanSetting& b) {
                     return std::tie(a.least, a.variant) <
                            std::tie(b.least, b.variant);
                   });
  if (settings.size() > policy.lean.max_settings)
    settings.resize(policy.lean.max_settings);
}

}  // namespace meshwright
