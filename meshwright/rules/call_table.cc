#include "meshwright/rules/call_table.h"

#include <array>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "meshwright/rules/rule_text.h"

namespace meshwright {
namespace {

// Only kernels whose attributes and results hold no sizes but those of their
// operands; workspaces may be larger than a device needs. Of several rules for
// one target, the first that fits.
struct CallRule {
  absl::string_view target;
  absl::string_view rule;       // With [a|b] for either.
  absl::string_view with = {};  // Attributes as they are printed, "a = 1; b".
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

    // Transformer Engine's norms, with the tensors of all versions from 2.3 on:
    // amax is an operand since 2.9. `i` and `j` are inverse scales, one for the
    // tensor or none. Those of blocks (MXFP8: 32 elements of a row, or of a
    // column) are padded where sizes are no multiples of 128, which has no
    // rule; parts are such multiples, of `p` rows and `q` columns.
    {"te_norm_forward_ffi",
     "... n, s[, a|], n, h -> ... n, c, i, j, a, [...|u], ..., w "
     "{reduction max: ...; need_replication: n s a h; c=1; [i=0|i=1]}"},
    {"te_norm_forward_ffi",
     "... (t p) n, s[, a|], n, h -> ... (t p) n, [... (t p) n|c], "
     "... (t p) e, [... (t f) n|j], a, [... (t p)|u], ... (t p), w "
     "{p=128; reduction max: ... t; need_replication: p e n s a h}"
     "[ {f=4; need_replication: f}|]"},
    {"te_norm_backward_ffi",
     "... n, ... n, ..., ..., n -> ... n, n, n, w "
     "{reduction: ...; need_replication: n}"},
    {"te_norm_backward_ffi",
     "... n, ... n, [|u], ..., n -> ... n, n, v, w "
     "{reduction: ...; need_replication: n; v=1}[| {need_replication: u}]"},

    // As they were called before.
    {"te_layernorm_forward_ffi",
     "... n, n, n -> ... n, ..., ..., w {reduction: ...; need_replication: n}"},
    {"te_layernorm_backward_ffi",
     "... n, ... n, ..., ..., n -> ... n, n, n, w "
     "{reduction: ...; need_replication: n}"},
    {"te_rmsnorm_forward_ffi",
     "... n, n -> ... n, ..., w {reduction: ...; need_replication: n}"},
    {"te_rmsnorm_backward_ffi",
     "... n, ... n, ..., n -> ... n, n, w "
     "{reduction: ...; need_replication: n}"},

    // Its activations of `l` inputs each, and their gradients. The columns'
    // tensor, for the transposed matmul, has the rows last. Rows that one call
    // both adds up and takes the maximum of are not split.
    {"te_act_lu_ffi", "... l n -> ... n {need_replication: l}"},
    {"te_dact_lu_ffi", "... n, ... l n -> ... l n {need_replication: l}"},
    {"te_act_lu_ffi",
     "... l n, s[, a|] -> ... n, [n ...|c], i, j, a "
     "{reduction max: ... n; need_replication: l s a; [i=0|i=1]}"},
    {"te_act_lu_ffi",
     "... (t p) l (n q), s[, a|] -> [... (t p) (n q)|c], "
     "[... (t p) (n q)|d], ... (t p) (n e), [... (t f) (n q)|j], a "
     "{p=128; q=128; e=4; reduction max: ... t n; "
     "need_replication: p q e l s a}[ {f=4; need_replication: f}|]"},
    {"te_dact_dbias_quantize_ffi",
     "... (t p) (n q), ... (t p) l (n q), s[, a|] -> [... (t p) l (n q)|c], "
     "[... (t p) l (n q)|d], ... (t p) l (n e), [... (t f) l (n q)|j], a, o, w "
     "{p=128; q=128; e=4; reduction max: ... t n; "
     "need_replication: p q e l s a}[ {f=4; need_replication: f}|]",
     "is_dbias = false"},
    {"te_dact_dbias_quantize_ffi",
     "... n, ... l n, s[, a|] -> ... l n, [l n ...|c], i, j, a, o, w "
     "{reduction max: ... n; need_replication: l s a; [i=0|i=1]}",
     "is_dbias = false"},
    {"te_dact_dbias_quantize_ffi",
     "... n, ... l n, s[, a|] -> ... l n, c, i, j, a, l n, w[ z|] "
     "{reduction max: n; need_replication: ... l s a; i=0}",
     "output_amax_when_no_scaling = true"},
    {"te_dact_dbias_quantize_ffi",
     "... n, ... l n, s[, a|] -> ... l n, c, i, j, a, l n, w[ z|] "
     "{reduction: ...; reduction max: n; need_replication: l s a; i=0}"},
    {"te_dact_dbias_quantize_ffi",
     "... n, ... l n, s[, a|] -> ... l n, [l n ...|c], i, j, a, l n, w[ z|] "
     "{reduction max: n; need_replication: ... l s a; i=1}"},

    // Its casts to 8 bits, and to 4, whose columns are transposed (NVFP4;
    // random
    // rounding would be the same in all parts).
    {"te_dbias_quantize_ffi",
     "... (t p) (n q), s[, a, r, y, z k|, a|] -> [... (t p) (n q)|c], "
     "[... (t p) (n q)|d], ... (t p) (n e), [... (t f) (n q)|j], a, o, w "
     "{p=128; q=128; e=4; reduction max: ... t n; need_replication: p q e s a}"
     "[ {f=4; need_replication: f}|][ {need_replication: r y z k}|]",
     "is_dbias = false; flatten_axis = -1; scaling_mode = 2"},
    {"te_dbias_quantize_ffi",
     "... (t p) l (n q), s[, a, r, y, z k|, a|] -> [... (t p) l (n q)|c], "
     "[... (t p) l (n q)|d], ... (t p) l (n e), [... (t f) l (n q)|j], a, o, w "
     "{p=128; q=128; e=4; reduction max: ... t l n; "
     "need_replication: p q e s a}"
     "[ {f=4; need_replication: f}|][ {need_replication: r y z k}|]",
     "is_dbias = false; flatten_axis = -2; scaling_mode = 2"},
    {"te_dbias_quantize_ffi",
     "... (t p) (n q), s, a, r, y, z k -> [... (t p) (n q)|c], "
     "[(n q) ... (t p)|d], ... (t p) (n e), [(n q) ... (t f)|j], a, o, w "
     "{p=128; q=128; e=8; reduction max: ... t n; "
     "need_replication: p q e s a r y z k}[ {f=8; need_replication: f}|]",
     "is_dbias = false; flatten_axis = -1; stochastic_rounding = false"},
    {"te_dbias_quantize_ffi",
     "... n, s[, a, r, p, t y|, a|] -> ... n, c, i, j, a, o, w "
     "{reduction max: ... n; need_replication: s a; c=1; i=1}"
     "[ {need_replication: r p t y}|]",
     "is_dbias = false"},
    {"te_dbias_quantize_ffi",
     "... n, s[, a, r, p, t y|, a|] -> [... n|d], n ..., i, j, a, o, w "
     "{reduction max: ... n; need_replication: s a; i=1; j=1}"
     "[ {need_replication: r p t y}|]",
     "is_dbias = false; flatten_axis = -1"},
    {"te_dbias_quantize_ffi",
     "... l n, s[, a, r, p, t y|, a|] -> [... l n|d], l n ..., i, j, a, o, w "
     "{reduction max: ... l n; need_replication: s a; i=1; j=1}"
     "[ {need_replication: r p t y}|]",
     "is_dbias = false; flatten_axis = -2"},
    {"te_dbias_quantize_ffi",
     "... n, s[, a, r, p, t y|, a|] -> [... n, n ...|... n, c|d, n ...], i, j, "
     "a, n, w[ z|] {reduction max: n; need_replication: ... s a; i=1}"
     "[ {need_replication: r p t y}|]",
     "flatten_axis = -1"},

    // The largest values before and after a transform of blocks of 16.
    {"te_rht_amax_ffi",
     "... (t p) (n q) -> a, b {p=64; q=128; reduction max: ... t n; "
     "need_replication: p q; a=1; b=1}"},

    // Its routing to experts, with a map of bytes or of bits.
    {"te_fused_topk_with_score_function_forward_ffi",
     "t e, b -> t e, t [e|m], t e {need_replication: e b}"},
    {"te_fused_topk_with_score_function_backward_ffi",
     "t [e|m], t e, t e -> t e {need_replication: e}[ {need_replication: m}|]"},
    {"te_topk_ffi",
     "t e, t -> t k, t k, w {reduction: t; need_replication: e}"},

    // Its softmax of attention scores.
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

// Every text that `text` stands for.
std::vector<std::string> Alternatives(absl::string_view text) {
  const size_t open = text.find('[');
  if (open == absl::string_view::npos) return {std::string(text)};
  const size_t close = text.find(']', open);
  std::vector<std::string> found;
  for (const absl::string_view one :
       absl::StrSplit(text.substr(open + 1, close - open - 1), '|')) {
    for (const std::string& rest : Alternatives(text.substr(close + 1))) {
      found.push_back(absl::StrCat(text.substr(0, open), one, rest));
    }
  }
  return found;
}

bool HasAttributes(const Instruction& instruction, absl::string_view with) {
  const std::string& config = instruction.attributes->backend_config;
  for (const absl::string_view attribute : absl::StrSplit(with, "; ")) {
    if (!absl::StrContains(config, attribute)) return false;
  }
  return true;
}

}  // namespace

std::optional<Rule> TableRule(const Instruction& instruction) {
  const std::string name = NameOf(instruction);
  for (const CallRule& entry : kCallRules) {
    if (entry.target != name || !HasAttributes(instruction, entry.with)) {
      continue;
    }
    for (const std::string& text : Alternatives(entry.rule)) {
      absl::StatusOr<Rule> rule = ParseRule(text, instruction);
      if (rule.ok()) return *std::move(rule);
    }
  }
  return std::nullopt;
}

}  // namespace meshwright
