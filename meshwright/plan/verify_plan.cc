#include "meshwright/plan/verify_plan.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "meshwright/base/status_macros.h"

namespace meshwright {
namespace {

// Kind, axes, devices in a group, bytes.
using Key = std::tuple<Opcode, std::string, int64_t, int64_t>;

// In a step.
struct Sum {
  double count = 0;
  double wire_bytes = 0;
};

std::map<Key, Sum> SumsOf(const std::vector<PlannedCollective>& listed) {
  std::map<Key, Sum> sums;
  for (const PlannedCollective& one : listed) {
    Sum& sum = sums[{one.kind, one.axes, one.devices, one.bytes}];
    sum.count += one.count;
    sum.wire_bytes += one.count * one.wire_bytes;
  }
  return sums;
}

// Counts of loops that end early are estimates.
bool AreEqual(double said, double had) {
  return std::abs(said - had) <= 1e-9 * said;
}

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
  std::map<Key, Sum> says = SumsOf(plan.collectives);
  std::map<Key, Sum> has = SumsOf(lowered);
  std::map<Key, Sum> every = says;
  every.insert(has.begin(), has.end());
  for (const auto& [key, unused] : every) {
    const Sum said = says[key];
    const Sum had = has[key];
    const bool same_count = AreEqual(said.count, had.count);
    if (same_count && AreEqual(said.wire_bytes, had.wire_bytes)) continue;
    const auto& [kind, axes, devices, bytes] = key;
    const std::string what =
        same_count ? absl::StrCat("of which a device sends ", said.wire_bytes,
                                  ", its program sends ", had.wire_bytes)
                   : absl::StrCat("its program has ", had.count);
    return absl::InvalidArgumentError(absl::StrCat(
        "the plan lists ", said.count, " x ", Name(kind), " along ", axes,
        " of ", bytes, " bytes, ", what,
        ": another version made the plan, or it was edited; plan again"));
  }
  return absl::OkStatus();
}

std::string TextOf(const PlannedTensor& tensor, const Plan& plan) {
  const std::string where =
      tensor.layout > 0 ? absl::StrCat(" of layout ", tensor.layout) : "";
  return absl::StrCat(tensor.name, " ",
                      Shape::Array(tensor.type, tensor.dimensions).ToString(),
                      " ", plan.TextOf(tensor), where);
}

// `what`: "parameter" or "output".
absl::Status VerifyTensors(const Plan& plan, absl::string_view what,
                           const std::vector<PlannedTensor>& said,
                           const std::vector<PlannedTensor>& had) {
  for (size_t i = 0; i < std::max(said.size(), had.size()); ++i) {
    if (i < said.size() && i < had.size() && said[i] == had[i]) continue;
    const auto text = [&](const std::vector<PlannedTensor>& all) {
      return i < all.size() ? TextOf(all[i], plan) : std::string("none");
    };
    return absl::InvalidArgumentError(absl::StrCat(
        "the plan's ", what, " ", i, " is ", text(said), ", its program's is ",
        text(had),
        ": another version made the plan, or it was edited; plan again"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Verify(const Plan& plan, const Module& module,
                    const Remade& remade) {
  MW_RETURN_IF_ERROR(VerifyModule(plan, module));
  if (remade.step) {
    MW_ASSIGN_OR_RETURN(const Module* const step, remade.step());
    MW_RETURN_IF_ERROR(VerifyStep(plan, *step));
  }
  if (remade.collectives) {
    MW_ASSIGN_OR_RETURN(const std::vector<PlannedCollective> lowered,
                        remade.collectives());
    MW_RETURN_IF_ERROR(VerifyCollectives(plan, lowered));
  }
  if (remade.tensors) {
    const PlannedTensors tensors = remade.tensors();
    MW_RETURN_IF_ERROR(VerifyTensors(plan, "parameter", plan.tensors.parameters,
                                     tensors.parameters));
    MW_RETURN_IF_ERROR(
        VerifyTensors(plan, "output", plan.tensors.outputs, tensors.outputs));
  }
  return absl::OkStatus();
}

}  // namespace meshwright
