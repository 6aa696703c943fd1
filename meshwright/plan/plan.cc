#include "meshwright/plan/plan.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "meshwright/hlo/write_module.h"

namespace meshwright {

uint64_t Fingerprint(const Module& module) {
  // FNV-1a of what is written.
  uint64_t hash = 0xCBF29CE484222325;
  for (const char c : WriteModule(module).value_or(std::string())) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  }
  return hash;
}

absl::Status CheckFits(const Plan& plan, const Module& module) {
  const uint64_t fingerprint = Fingerprint(module);
  if (plan.fingerprint == fingerprint) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrFormat(
      "the plan is for another module (%s, %016x; this is %s, %016x); plan "
      "this one again",
      plan.module_name, plan.fingerprint, module.name(), fingerprint));
}

}  // namespace meshwright
