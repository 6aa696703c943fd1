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
                     return std::tie(a.least, a.setting.micro_batches) <
                            std::tie(b.least, b.setting.micro_batches);
                   });
  if (settings.size() > policy.lean.max_settings)
    settings.erase(
        settings.begin() + static_cast<int64_t>(policy.lean.max_settings),
        settings.end());
}

}  // namespace meshwright
