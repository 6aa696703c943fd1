#include "meshwright/plan/verify_plan.h"

#include <cmath>
#include <map>
#include <string>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace meshwright {
namespace {

// Kind, axes, devices in a group, bytes.
using Key = std::tuple<std::string, std::string, int64_t, int64_t>;

std::map<Key, double> Counts(const std::vector<PlannedCollective>& listed) {
  std::map<Key, double> counts;
  for (const PlannedCollective& one : listed) {
    counts[{one.kind, one.axes, one.devices, one.bytes}] += one.count;
  }
  return counts;
}

double CountOf(const std::map<Key, double>& counts, const Key& key) {
  const auto found = counts.find(key);
  return found == counts.end() ? 0 : found->second;
}

}  // namespace

absl::Status VerifyModule(const Plan& plan, const Module& module) {
  const uint64_t fingerprint = Fingerprint(module);
  if (plan.fingerprint == fingerprint) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrFormat(
      "the plan is for another module (%s, %016x; this is %s, %016x); plan "
      "this one again",
      plan.module_name, plan.fingerprint, module.name(), fingerprint));
}

absl::Status VerifyStep(const Plan& plan, const Module& step) {
  const uint64_t fingerprint = Fingerprint(step);
  if (plan.step_fingerprint == fingerprint) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrFormat(
      "the plan's step (%016x) is not the one that this version makes of the "
      "module (%016x): another version made the plan, or it was edited; plan "
      "again",
      plan.step_fingerprint, fingerprint));
}

absl::Status VerifyCollectives(const Plan& plan,
                               const std::vector<PlannedCollective>& lowered) {
  const std::map<Key, double> says = Counts(plan.collectives);
  const std::map<Key, double> has = Counts(lowered);
  std::map<Key, double> every = says;
  every.insert(has.begin(), has.end());
  for (const auto& [key, unused] : every) {
    const double said = CountOf(says, key);
    const double had = CountOf(has, key);
    // Counts of loops that end early are estimates.
    if (std::abs(said - had) <= 1e-9 * said) continue;
    const auto& [kind, axes, devices, bytes] = key;
    return absl::InvalidArgumentError(absl::StrCat(
        "the plan lists ", said, " x ", kind, " along ", axes, " of ", bytes,
        " bytes, its program has ", had,
        ": another version made the plan, or it was edited; plan again"));
  }
  return absl::OkStatus();
}

}  // namespace meshwright
