#include "meshwright/planner/lean_settings.h"

#include <algorithm>
#include <tuple>

namespace meshwright {
namespace {

constexpr size_t kMaxSettings = 4;
constexpr size_t kMaxCounts = 3;

}  // namespace

std::vector<int64_t> CountsOfLeast(const std::vector<int64_t>& counts) {
  if (counts.size() <= kMaxCounts) return counts;
  std::vector<int64_t> kept(counts.end() - (kMaxCounts - 1), counts.end());
  kept.insert(kept.begin(), counts[0]);
  return kept;
}

void SortLeanSettings(std::vector<LeanSetting>& settings) {
  std::stable_sort(settings.begin(), settings.end(),
                   [](const LeanSetting& a, const LeanSetting& b) {
                     return std::tie(a.least, a.count) <
                            std::tie(b.least, b.count);
                   });
  if (settings.size() > kMaxSettings) settings.resize(kMaxSettings);
}

}  // namespace meshwright
