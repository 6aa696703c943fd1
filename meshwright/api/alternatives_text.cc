#include "meshwright/api/alternatives_text.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "meshwright/base/units.h"

namespace meshwright {
namespace {

constexpr size_t kMaxAlternatives = 8;
// Seconds that are printed as none.
constexpr double kNothing = 5e-9;

// "2 stages, full recomputation"
std::string SettingText(int32_t stages, Recompute recompute) {
  std::string text = stages == 1 ? "" : absl::StrCat(stages, " stages, ");
  absl::StrAppend(&text, RecomputeText(recompute));
  return std::string(absl::StripSuffix(text, ", "));
}

// The plan itself.
bool IsChosen(const Alternative& one, const Plan& plan) {
  return one.mesh == plan.mesh().ToString() &&
         one.micro_batches == plan.micro_batches &&
         one.stages == plan.ranks() && one.recompute == plan.recompute &&
         one.why_not.empty() &&
         (one.predicted_seconds == 0 ||
          one.predicted_seconds == plan.predicted.step_seconds);
}

// Against the plan, in the same kind of price: of programs where there is one.
std::string RemarkOn(const Alternative& one, const Plan& plan) {
  if (!one.why_not.empty()) return one.why_not;
  const Prediction& own = plan.predicted;
  const auto difference = [](double more) {
    return std::abs(more) < kNothing ? "as quick" : SignedSeconds(more);
  };
  if (one.predicted_seconds > 0) {
    const double more = one.predicted_seconds - own.step_seconds;
    const bool is_same_setting = one.mesh == plan.mesh().ToString() &&
                                 one.stages == plan.ranks() &&
                                 one.micro_batches == plan.micro_batches &&
                                 one.recompute == plan.recompute;
    if (more > -kNothing) {
      return absl::StrCat(
          difference(more),
          is_same_setting ? ", the search's own; a known strategy is quicker"
                          : "");
    }
    return absl::StrCat(difference(more), plan.measured.has_value()
                                              ? ", but slower when it was run"
                                              : ", with a looser bound");
  }
  if (own.search_seconds == 0) return "";
  const double more = one.seconds - own.search_seconds;
  return absl::StrCat(difference(more), " by the search",
                      more <= -kNothing
                          ? "; not among the few whose programs were written"
                          : "");
}

}  // namespace

std::string SignedSeconds(double seconds) {
  return absl::StrCat(seconds < 0 ? "-" : "+",
                      FormatSeconds(std::abs(seconds)));
}

std::string RecomputeText(Recompute recompute) {
  return recompute == Recompute::kNone
             ? ""
             : absl::StrCat(Name(recompute), " recomputation, ");
}

std::string AlternativesText(const Plan& plan) {
  std::string lines = "meshes that were looked at        search     program\n";
  const auto add = [&lines](const std::string& mesh, int64_t micro_batches,
                            const std::string& more, double search,
                            double program, const std::string& remark) {
    const auto text = [](double seconds) {
      return seconds > 0 ? FormatSeconds(seconds) : std::string("-");
    };
    absl::StrAppendFormat(&lines, "  %-24s x%-4d %-10s %-10s %s%s%s\n", mesh,
                          micro_batches, text(search), text(program), more,
                          more.empty() || remark.empty() ? "" : ": ", remark);
  };
  add(plan.mesh().ToString(), plan.micro_batches,
      SettingText(plan.ranks(), plan.recompute), plan.predicted.search_seconds,
      plan.predicted.step_seconds, "chosen");
  size_t rows = 0;
  for (const Alternative& one : plan.alternatives) {
    if (IsChosen(one, plan)) continue;
    if (++rows == kMaxAlternatives) break;
    add(one.mesh, one.micro_batches, SettingText(one.stages, one.recompute),
        one.seconds, one.predicted_seconds, RemarkOn(one, plan));
  }
  absl::StrAppend(&lines,
                  "  search: simulated from the candidate; program: as "
                  "written, of the most "
                  "promising only\n");
  return lines;
}

}  // namespace meshwright
