#include "meshwright/explain/explain_names.h"

#include <algorithm>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "meshwright/analysis/display_names.h"
#include "meshwright/analysis/flops.h"
#include "meshwright/annotations/name_pattern.h"
#include "meshwright/base/fold_names.h"
#include "meshwright/hlo/opcode_traits.h"

namespace meshwright {
namespace {

// Names listed in an error.
constexpr size_t kMostNames = 6;
// Names shown for a group whose members' names differ in more than numbers.
constexpr size_t kMostFolded = 2;

int RankOf(const FlatOp& op) {
  if (op.kind == OpKind::kParameter) return 0;
  if (op.kind == OpKind::kOutput) return 3;
  return IsContraction(op.instruction->opcode) ? 1 : 2;
}

}  // namespace

StudyNames::StudyNames(const PlanStudy& study) : study_(study) {
  const StepModel& model = study.model();
  const FlatGraph& graph = model.graph;
  const DisplayNames names(*model.module, model.roles);
  std::vector<std::string> given(graph.ops.size());
  for (size_t i = 0; i < graph.parameters.size(); ++i) {
    given[graph.parameters[i]] = ParameterName(model, i);
  }
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    given[graph.outputs[i]] = model.roles.outputs[i].name;
  }
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const FlatOp& op = graph.ops[i];
    const int32_t group = model.alike.group_of[i];
    if (!op.live || group < 0) continue;
    const bool is_given = !given[i].empty();
    if (!is_given && op.kind != OpKind::kCompute) continue;
    entries_.push_back({is_given ? given[i] : names.Of(*op.instruction),
                        is_given ? given[i] : op.instruction->name, group,
                        RankOf(op)});
  }
}

std::string StudyNames::Of(int32_t group) const {
  std::vector<std::string> names;
  for (const Entry& entry : entries_) {
    if (entry.group == group) names.push_back(entry.shown);
  }
  return names.empty() ? study_.NameOf(group) : FoldedList(names, kMostFolded);
}

absl::StatusOr<int32_t> StudyNames::GroupCalled(absl::string_view name) const {
  const int32_t exact = study_.GroupNamed(name);
  if (exact >= 0) return exact;
  Matching groups;
  std::set<std::string> shown_names;
  const std::string end = absl::StrCat("/", name);
  // Matches the whole name, then its last scopes, then any part of it,
  // whichever is found first.
  for (int attempt = 0; attempt < 3 && groups.empty(); ++attempt) {
    for (const Entry& entry : entries_) {
      const std::string& shown = entry.shown;
      const bool is_it = IsPattern(name)
                             ? Matches(name, shown) || Matches(name, entry.hlo)
                         : attempt == 0 ? shown == name
                         : attempt == 1 ? absl::EndsWith(shown, end)
                                        : absl::StrContains(shown, name);
      if (!is_it) continue;
      groups.emplace(entry.group, &entry);
      shown_names.insert(shown);
    }
  }
  // A state's input and output have the same name, which stands for the
  // parameter.
  if (shown_names.size() == 1) {
    const int32_t named = study_.GroupNamed(*shown_names.begin());
    if (named >= 0) return named;
  }
  if (groups.size() == 1) return groups.begin()->first;
  if (!groups.empty()) return Ambiguous(name, groups);
  std::vector<std::string> all;
  for (const Entry& entry : entries_) {
    all.push_back(entry.shown);
    all.push_back(entry.hlo);
  }
  const std::vector<std::string> near = NearestNames(name, all, 1);
  return absl::InvalidArgumentError(absl::StrCat(
      "no parameter or instruction that matters is called \"", name, "\"",
      near.empty() ? "; meshwright inspect lists parameters"
                   : absl::StrCat("; did you mean ", near[0], "?")));
}

absl::Status StudyNames::Ambiguous(absl::string_view name,
                                   const Matching& matching) const {
  std::vector<const Entry*> firsts;  // First entry of each group.
  for (const auto& [_, entry] : matching) firsts.push_back(entry);
  std::ranges::stable_sort(firsts, {}, &Entry::rank);
  std::vector<std::string> names;
  for (const Entry* one : firsts) {
    std::string text = one->shown == one->hlo
                           ? one->hlo
                           : absl::StrCat(one->hlo, " (", one->shown, ")");
    // A state's output has the name of its input.
    if (std::ranges::count(names, text) == 0) names.push_back(std::move(text));
  }
  const size_t more = names.size() - std::min(names.size(), kMostNames);
  names.resize(names.size() - more);
  return absl::InvalidArgumentError(
      absl::StrCat("\"", name, "\" could be ", absl::StrJoin(names, ", "),
                   more > 0 ? absl::StrCat(" or ", more, " more") : "",
                   "; give one of these names"));
}

}  // namespace meshwright
