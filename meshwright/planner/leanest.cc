#include "meshwright/planner/leanest.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "meshwright/base/status_macros.h"
#include "meshwright/planner/lean_settings.h"

namespace meshwright {

absl::StatusOr<Plan> PlanLeanest(
    const PlanTask& task, const MeshSearch& search,
    const std::vector<Mesh>& meshes,
    std::span<const std::shared_ptr<const StepVariant>> variants,
    absl::Status last) {
  const Expert expert = task.request.expert;
  std::vector<LeanSetting> settings;
  for (const std::shared_ptr<const StepVariant>& variant : variants) {
    for (const Mesh& mesh : meshes) {
      const Setting setting = SettingOf(*variant, mesh, expert);
      const absl::StatusOr<int64_t> least = search.LeastPeak(variant, setting);
      last.Update(least.status());
      if (least.ok()) settings.push_back({setting, *least, variant});
    }
  }
  SortLeanSettings(task.policy, settings);
  std::optional<Plan> best;
  for (const LeanSetting& setting : settings) {
    if (setting.least >= (best.has_value() ? best->predicted.peak_bytes
                                           : *task.mode.leanest_below)) {
      break;
    }
    for (const double slack : task.policy.lean.slacks) {
      const auto limit = static_cast<int64_t>(
          std::min(slack * static_cast<double>(setting.least),
                   static_cast<double>(kNoLimit)));
      const absl::StatusOr<PlanCandidate> found =
          search.Sketch(setting.variant, setting.setting, limit, {});
      if (!found.ok()) {
        last = found.status();
        continue;
      }
      MW_ASSIGN_OR_RETURN(Plan plan, WritePlan(task, *found));
      if (!best.has_value() ||
          plan.predicted.peak_bytes < best->predicted.peak_bytes) {
        best = std::move(plan);
      }
      break;
    }
  }
  if (best.has_value()) return *std::move(best);
  return last.ok() ? absl::ResourceExhaustedError("takes more") : last;
}

}  // namespace meshwright
