#include "meshwright/explain/explain_binds.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/units.h"
#include "meshwright/mesh/sharding_text.h"
#include "meshwright/planner/plan_prices.h"

namespace meshwright {
namespace {

// Groups that are pinned only because of the batch axis.
std::set<GroupId> PinnedForBatch(const PlanStudy& study) {
  std::set<GroupId> groups;
  const Plan& plan = study.plan();
  const std::optional<int32_t> axis =
      plan.mesh().FindAxis(plan.steering.batch_axis);
  if (plan.steering.batch_axis.empty() || !axis.has_value()) return groups;
  for (const auto& [group, pins] : study.pins()) {
    const Annotation& asked = pins[0].asked;
    if (study.model().kinds[group] != StateKind::kData || asked.free.empty() ||
        std::ranges::count(asked.free, false) != 1) {
      continue;
    }
    const auto at = std::ranges::find(asked.free, false) - asked.free.begin();
    if (AxesOf(asked.sharding.dims[at]) == plan.mesh().SubAxes(*axis)) {
      groups.insert(group);
    }
  }
  return groups;
}

// The user's pins by group, without those that follow from a pin of a group in
// `but`.
std::map<GroupId, GroupPin> GivenPins(const PlanStudy& study,
                                      const std::set<GroupId>& but) {
  std::map<GroupId, GroupPin> given;
  for (const auto& [group, pins] : study.pins()) {
    for (const GroupPin& pin : pins) {
      if (!but.contains(pin.group)) given.try_emplace(pin.group, pin);
    }
  }
  return given;
}

bool HasOneMesh(const Plan& plan) {
  return std::ranges::all_of(plan.alternatives, [&](const Alternative& one) {
    return one.mesh == plan.mesh().ToString();
  });
}

}  // namespace

std::vector<BindReport> ExplainBinds(const PlanStudy& study, int pins) {
  std::vector<BindReport> reports;
  const absl::StatusOr<Answer> best = study.Ask({});
  if (!best.ok()) return reports;
  const auto add = [&](std::string what, std::string asked,
                       const Whatif& without) {
    const absl::StatusOr<Answer> answer = study.Ask(without);
    if (!answer.ok()) return;
    const double saves = best->seconds - answer->seconds;
    if (saves <= kNoticeable * best->seconds) return;
    reports.push_back({std::move(what), std::move(asked), saves});
  };
  const Plan& plan = study.plan();
  if (plan.strategy != Expert::kAuto && plan.strategy != Expert::kVolume) {
    add("strategy", std::string(Name(plan.strategy)), {.any_strategy = true});
  }
  add("memory", FormatBytes(plan.memory_bytes), {.any_memory = true});
  const std::vector<Forbidden>& forbidden = study.forbidden();
  if (forbidden.size() > 1) {
    add("forbid", absl::StrCat("all ", forbidden.size()),
        {.allowed = Whatif::kAnyCollective});
  }
  for (size_t i = 0; i < forbidden.size(); ++i) {
    add("forbid", ToString(forbidden[i]), {.allowed = static_cast<int32_t>(i)});
  }
  const std::set<GroupId> batch = PinnedForBatch(study);
  if (!batch.empty()) {
    add("batch-axis", plan.steering.batch_axis, {.unpinned = batch});
  }
  const std::map<GroupId, GroupPin> given = GivenPins(study, batch);
  if (given.size() > 1) {
    Whatif without;
    for (const auto& [group, pin] : given) without.unpinned.insert(group);
    add("pins", absl::StrCat("all ", given.size()), without);
  }
  int tried = 0;
  for (const auto& [group, pin] : given) {
    if (++tried > pins) break;
    add(absl::StrCat("pin ", pin.name), ToString(pin.asked, plan.mesh()),
        {.unpinned = {group}});
  }
  SortBinds(reports);
  return reports;
}

absl::StatusOr<std::optional<BindReport>> ExplainMesh(const Module& module,
                                                      const PlanStudy& study) {
  const Plan& plan = study.plan();
  // Pins and forbidden axes refer to the mesh and must be dropped with it.
  const bool names_axes = std::ranges::any_of(
      plan.steering.forbidden,
      [](const Forbidden& one) { return !one.axis.empty(); });
  const bool has_pins = !GivenPins(study, PinnedForBatch(study)).empty();
  if (!HasOneMesh(plan) || names_axes || has_pins || plan.stages() > 1) {
    return std::nullopt;
  }
  PlanRequest request;
  request.expert = plan.strategy;
  request.micro_batches = plan.micro_batches;
  request.stages = 1;
  request.recompute = plan.recompute;
  request.memory_bytes = plan.memory_bytes;
  request.forbidden = plan.steering.forbidden;
  request.batch_axis = plan.steering.batch_axis;
  const absl::StatusOr<Plan> other =
      MakePlan(module, plan.cluster, plan.rates, request);
  if (!other.ok()) return std::nullopt;
  const double saves =
      plan.predicted.step_seconds - other->predicted.step_seconds;
  if (saves <= kNoticeable * plan.predicted.step_seconds) return std::nullopt;
  return BindReport{"mesh", plan.mesh().ToString(), saves};
}

void SortBinds(std::vector<BindReport>& reports) {
  std::ranges::stable_sort(reports, std::ranges::greater(), &BindReport::saves);
}

}  // namespace meshwright
