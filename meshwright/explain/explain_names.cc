#include "meshwright/explain/explain_names.h"

#include <algorithm>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "meshwright/analysis/display_names.h"
#include "meshwright/analysis/flops.h"
#include "meshwright/annotations/name_pattern.h"
#include "meshwright/base/fold_names.h"
#include "meshwright/hlo/opcode_traits.h"

namespace meshwright {
namespace {

// Names listed in an error: candidates, and similar ones.
constexpr size_t kMostNames = 6;
constexpr size_t kMostSimilar = 3;
// Names shown for a group whose members' names differ in more than numbers.
constexpr size_t kMostFolded = 2;

int RankOf(const FlatOp& op) {
  if (op.kind == OpKind::kParameter) return 0;
  if (op.kind == OpKind::kOutput) return 3;
  return IsContraction(op.instruction->opcode) ? 1 : 2;
}

// Ways to match a name, in the order in which they are tried.
enum Attempt : int { kWhole, kEnd, kPath, kAnyPart, kAttempts };

// Whether whole components of a path are in a display name: "3/attn" in
// "blocks/3/attn/dot_general (backward)" and "dot_general(state/3/attn/w)".
bool HasPath(absl::string_view shown, absl::string_view path) {
  constexpr absl::string_view kBefore = "/(";
  constexpr absl::string_view kAfter = "/) ";
  for (size_t at = shown.find(path); at != absl::string_view::npos;
       at = shown.find(path, at + 1)) {
    const size_t end = at + path.size();
    if ((at == 0 || absl::StrContains(kBefore, shown[at - 1])) &&
        (end == shown.size() || absl::StrContains(kAfter, shown[end]))) {
      return true;
    }
  }
  return false;
}

// What of a display name could be meant by a path of so many components:
// "blocks/3" and "3/attn" of "dot_general(blocks/3/attn)" for two.
std::vector<std::string> PathsIn(absl::string_view shown, size_t count) {
  shown = shown.substr(0, shown.find(' '));
  if (absl::ConsumeSuffix(&shown, ")"))
    shown = shown.substr(shown.find('(') + 1);
  const std::vector<absl::string_view> parts = absl::StrSplit(shown, '/');
  std::vector<std::string> paths;
  for (size_t i = 0; i + count <= parts.size(); ++i) {
    paths.push_back(
        absl::StrJoin(parts.begin() + i, parts.begin() + i + count, "/"));
  }
  return paths;
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
    const GroupId group = model.groups.group_of[i];
    if (!op.live || group < 0) continue;
    const bool is_given = !given[i].empty();
    if (!is_given && op.kind != OpKind::kCompute) continue;
    entries_.push_back({is_given ? given[i] : names.Of(*op.instruction),
                        is_given ? given[i] : op.instruction->name,
                        static_cast<int32_t>(i), group, RankOf(op)});
  }
}

std::string StudyNames::Of(GroupId group) const {
  std::vector<std::string> names;
  for (const Entry& entry : entries_) {
    if (entry.group == group) names.push_back(entry.shown);
  }
  return names.empty() ? study_.NameOf(group) : FoldedList(names, kMostFolded);
}

std::vector<const StudyNames::Entry*> StudyNames::Matching(
    absl::string_view name, int attempt) const {
  const auto is_it = [&](const Entry& entry) {
    if (IsPattern(name)) {
      return Matches(name, entry.shown) || Matches(name, entry.hlo);
    }
    switch (attempt) {
      case kWhole:
        return entry.shown == name;
      case kEnd:
        return absl::EndsWith(entry.shown, absl::StrCat("/", name));
      case kPath:
        return HasPath(entry.shown, name);
      default:
        return absl::StrContains(entry.shown, name);
    }
  };
  std::vector<const Entry*> matching;
  for (const Entry& entry : entries_) {
    if (is_it(entry)) matching.push_back(&entry);
  }
  return matching;
}

absl::StatusOr<NamedPart> StudyNames::Called(absl::string_view name) const {
  name = absl::StripSuffix(absl::StripPrefix(name, "/"), "/");
  NamedPart part{.name = std::string(name)};
  const auto only = [&](GroupId group) {
    part.groups = {group};
    const auto& members = study_.model().groups.members[group];
    part.ops = {members.begin(), members.end()};
    return part;
  };
  const GroupId exact = study_.GroupNamed(name);
  if (exact >= 0) return only(exact);
  for (int attempt = kWhole; attempt < kAttempts && !name.empty(); ++attempt) {
    const std::vector<const Entry*> matching = Matching(name, attempt);
    if (matching.empty()) continue;
    std::set<std::string> shown;
    for (const Entry* entry : matching) {
      shown.insert(entry->shown);
      part.groups.insert(entry->group);
      part.ops.insert(entry->op);
    }
    // A state's input and output have the same name, which stands for the
    // parameter.
    const GroupId named =
        shown.size() == 1 ? study_.GroupNamed(*shown.begin()) : kNoGroup;
    if (named >= 0) return only(named);
    if (attempt == kAnyPart && part.groups.size() > 1) {
      return Ambiguous(name, matching);
    }
    return part;
  }
  return Unknown(name);
}

absl::Status StudyNames::Unknown(absl::string_view name) const {
  const auto components =
      static_cast<size_t>(std::ranges::count(name, '/')) + 1;
  std::set<std::string> known;
  for (const Entry& entry : entries_) {
    known.insert(entry.shown);
    known.insert(entry.hlo);
    for (std::string& path : PathsIn(entry.shown, components)) {
      known.insert(std::move(path));
    }
  }
  const std::vector<std::string> all(known.begin(), known.end());
  const std::vector<std::string> near = ClosestNames(name, all, kMostSimilar);
  return absl::InvalidArgumentError(absl::StrCat(
      "no module, parameter or instruction that matters is called \"", name,
      "\"",
      near.empty()
          ? "; meshwright inspect lists parameters"
          : absl::StrCat("; did you mean ", absl::StrJoin(near, " or "), "?")));
}

absl::Status StudyNames::Ambiguous(
    absl::string_view name, const std::vector<const Entry*>& matching) const {
  std::map<int32_t, const Entry*> first_of;  // By group.
  for (const Entry* entry : matching) first_of.emplace(entry->group, entry);
  std::vector<const Entry*> firsts;
  for (const auto& [_, entry] : first_of) firsts.push_back(entry);
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
