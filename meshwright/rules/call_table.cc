#include "meshwright/rules/call_table.h"

#include <array>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "meshwright/rules/rule_text.h"

namespace meshwright {
namespace {

// Only kernels whose attributes and results hold no sizes but those of their
// operands. Of several rules for one target, the first that fits.
struct CallRule {
  absl::string_view target;
  absl::string_view rule;
};

constexpr std::array kCallRules = std::to_array<CallRule>({
    // Matrices of linear algebra, many at once. LAPACK's names without the
    // letter of the element type.
    {"lapack_potrf_ffi", "... m n -> ... m n, ... {need_replication: m n}"},
    {"lapack_getrf_ffi",
     "... m n -> ... m n, ... k, ... {need_replication: m n}"},
    {"lapack_geqrf_ffi", "... m n -> ... m n, ... k {need_replication: m n}"},
    {"lapack_orgqr_ffi", "... m n, ... k -> ... m n {need_replication: m n k}"},
    {"lapack_ungqr_ffi", "... m n, ... k -> ... m n {need_replication: m n k}"},
    {"lapack_syevd_ffi",
     "... m n -> ... m n, ... w, ... {need_replication: m n}"},
    {"lapack_heevd_ffi",
     "... m n -> ... m n, ... w, ... {need_replication: m n}"},
    {"lapack_gesdd_ffi",
     "... m n -> ... m n, ... s, ... u v, ... w x, ... "
     "{need_replication: m n}"},
    {"lapack_trsm_ffi",
     "... l o, ... m n -> ... m n "
     "{need_replication: l o m n}"},
    {"cusolver_potrf_ffi", "... m n -> ... m n, ... {need_replication: m n}"},
    {"cusolver_getrf_ffi",
     "... m n -> ... m n, ... k, ... {need_replication: m n}"},
    {"cusolver_geqrf_ffi", "... m n -> ... m n, ... k {need_replication: m n}"},
    {"cusolver_orgqr_ffi",
     "... m n, ... k -> ... m n {need_replication: m n k}"},
    {"cusolver_syevd_ffi",
     "... m n -> ... m n, ... w, ... {need_replication: m n}"},
    {"cusolver_gesvdj_ffi",
     "... m n -> ... m n, ... s, ... u v, ... w x, ... "
     "{need_replication: m n}"},
    {"cu_lu_pivots_to_permutation", "... k -> ... m {need_replication: k}"},

    // Transformer Engine's softmax of attention scores.
    {"te_scaled_softmax_forward_ffi", "... s -> ... s {need_replication: s}"},
    {"te_scaled_softmax_backward_ffi",
     "... s, ... s -> ... s {need_replication: s}"},
    {"te_scaled_masked_softmax_forward_ffi",
     "b n t s, b o t s -> b n t s {need_replication: o s}"},
    {"te_scaled_masked_softmax_forward_ffi",
     "b n t s, a o t s -> b n t s {need_replication: a o s}"},
    {"te_scaled_masked_softmax_backward_ffi",
     "... s, ... s -> ... s {need_replication: s}"},
    {"te_scaled_upper_triang_masked_softmax_forward_ffi",
     "... t s -> ... t s {need_replication: t s}"},
    {"te_scaled_upper_triang_masked_softmax_backward_ffi",
     "... t s, ... t s -> ... t s {need_replication: t s}"},
});

// lapack_sgetrf_ffi -> lapack_getrf_ffi
std::string NameOf(const Instruction& instruction) {
  absl::string_view target = instruction.attributes->custom_call_target;
  constexpr absl::string_view kLapack = "lapack_";
  if (!absl::ConsumePrefix(&target, kLapack) || target.empty()) {
    return std::string(target);
  }
  return absl::StrCat(kLapack, target.substr(1));
}

}  // namespace

std::optional<Rule> TableRule(const Instruction& instruction) {
  const std::string name = NameOf(instruction);
  for (const CallRule& entry : kCallRules) {
    if (entry.target != name) continue;
    absl::StatusOr<Rule> rule = ParseRule(entry.rule, instruction);
    if (rule.ok()) return *std::move(rule);
  }
  return std::nullopt;
}

}  // namespace meshwright
