#include "meshwright/crossing/cross_call.h"

#include <array>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "meshwright/base/status_macros.h"

namespace meshwright {
namespace {

constexpr std::array<absl::string_view, 6> kKinds = {
    "all-reduce", "reduce-scatter",     "all-gather",
    "all-to-all", "collective-permute", "collective-broadcast"};
constexpr std::array<absl::string_view, 6> kOps = {
    "add", "multiply", "maximum", "minimum", "and", "or"};

absl::Status NotThat(absl::string_view what, absl::string_view text) {
  return absl::InvalidArgumentError(
      absl::StrCat("\"", text, "\" is no ", what, " of a collective"));
}

template <typename T>
absl::StatusOr<T> Parse(absl::string_view what, absl::string_view name,
                        const std::array<absl::string_view, 6>& names) {
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<T>(i);
  }
  return NotThat(what, name);
}

// "12>34" at '>'.
template <typename A, typename B>
bool ParsePair(absl::string_view text, char between, A* first, B* second) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits(between, 1));
  return absl::SimpleAtoi(parts.first, first) &&
         absl::SimpleAtoi(parts.second, second);
}

}  // namespace

std::string AttributesOf(const CrossCall& call, int64_t job, int member,
                         int64_t tag) {
  return absl::StrCat("{job = ", job, " : i64, member = ", member,
                      " : i64, tag = ", tag, " : i64, kind = \"",
                      Name(call.kind), "\", op = \"", ReduceOpName(call.op),
                      "\", dimension = ", call.dimension, " : i64, groups = \"",
                      ToString(call.groups), "\", pairs = \"",
                      ToString(call.pairs), "\"}");
}

absl::string_view Name(CrossKind kind) {
  return kKinds[static_cast<size_t>(kind)];
}

absl::string_view ReduceOpName(ReduceOp op) {
  return kOps[static_cast<size_t>(op)];
}

absl::StatusOr<CrossKind> ParseCrossKind(absl::string_view name) {
  return Parse<CrossKind>("kind", name, kKinds);
}

absl::StatusOr<ReduceOp> ParseReduceOp(absl::string_view name) {
  return Parse<ReduceOp>("reduction", name, kOps);
}

std::string ToString(const std::vector<CrossGroup>& groups) {
  const auto member = [](std::string* out, const CrossGroup::Member& one) {
    absl::StrAppend(out, one.device, "@", one.process);
  };
  return absl::StrJoin(
      groups, ";", [&](std::string* out, const CrossGroup& group) {
        absl::StrAppend(out, group.tag, ":",
                        absl::StrJoin(group.members, ",", member));
      });
}

absl::StatusOr<std::vector<CrossGroup>> ParseCrossGroups(
    absl::string_view text) {
  std::vector<CrossGroup> groups;
  for (const absl::string_view part :
       absl::StrSplit(text, ';', absl::SkipEmpty())) {
    CrossGroup& group = groups.emplace_back();
    const std::pair<absl::string_view, absl::string_view> sides =
        absl::StrSplit(part, absl::MaxSplits(':', 1));
    if (!absl::SimpleAtoi(sides.first, &group.tag) || sides.second.empty()) {
      return NotThat("group", part);
    }
    for (const absl::string_view one : absl::StrSplit(sides.second, ',')) {
      CrossGroup::Member& member = group.members.emplace_back();
      if (!ParsePair(one, '@', &member.device, &member.process)) {
        return NotThat("group", part);
      }
    }
  }
  return groups;
}

std::string ToString(const std::vector<std::pair<int64_t, int64_t>>& pairs) {
  return absl::StrJoin(pairs, ",", absl::PairFormatter(">"));
}

absl::StatusOr<std::vector<std::pair<int64_t, int64_t>>> ParseCrossPairs(
    absl::string_view text) {
  std::vector<std::pair<int64_t, int64_t>> pairs;
  for (const absl::string_view part :
       absl::StrSplit(text, ',', absl::SkipEmpty())) {
    auto& pair = pairs.emplace_back();
    if (!ParsePair(part, '>', &pair.first, &pair.second)) {
      return NotThat("pair", part);
    }
  }
  return pairs;
}

}  // namespace meshwright
