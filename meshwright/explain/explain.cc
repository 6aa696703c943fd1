#include "meshwright/explain/explain.h"

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/base/units.h"
#include "meshwright/explain/break_even.h"
#include "meshwright/explain/explain_locally.h"
#include "meshwright/explain/explain_names.h"
#include "meshwright/mesh/sharding_text.h"

namespace meshwright {
namespace {

int64_t ResultBytes(const PlanStudy& study, GroupId group,
                    const Option& option) {
  double bytes = 0;
  for (const GroupValueId value : study.model().group_values[group]) {
    const GroupValue& of = study.model().values[value];
    if (!of.shape->IsArray()) continue;
    bytes += study.problem().LocalBytes(*of.shape, option.results[of.result]);
  }
  return static_cast<int64_t>(bytes);
}

// What is known about every option without solving anything.
std::vector<OptionReport> LookAtOptions(const PlanStudy& study, GroupId group,
                                        const LocalView& local) {
  const std::vector<Option>& options = study.problem().options(group);
  const int32_t chosen = study.chosen()[group];
  const LocalCost now = local.Of(group, chosen);
  std::vector<OptionReport> reports;
  for (size_t i = 0; i < options.size(); ++i) {
    const int32_t option = static_cast<int32_t>(i);
    const LocalCost cost = local.Of(group, option);
    OptionReport report{.text = study.TextOf(group, option),
                        .is_chosen = option == chosen,
                        .is_allowed = study.Allows(group, option),
                        .compute_seconds = SecondsOfUnits(cost.compute),
                        .bytes = ResultBytes(study, group, options[i])};
    if (cost.moves < kInfiniteCost) {
      report.move_seconds = SecondsOfUnits(cost.moves);
      report.regret_if_fixed =
          SecondsOfUnits(cost.compute + cost.moves - now.compute - now.moves);
    }
    reports.push_back(std::move(report));
  }
  return reports;
}

// The chosen option first, then the most promising ones.
std::vector<int32_t> InOrder(const std::vector<OptionReport>& reports) {
  std::vector<int32_t> order(reports.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int32_t>(i);
  const auto key = [&](int32_t i) {
    const OptionReport& one = reports[i];
    return std::make_tuple(
        !one.is_chosen,
        one.regret_if_fixed.value_or(std::numeric_limits<double>::infinity()),
        one.compute_seconds);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](int32_t a, int32_t b) { return key(a) < key(b); });
  return order;
}

bool IsProved(const Answer& answer) {
  return answer.seconds - answer.bound <= kNoticeable * answer.seconds;
}

// Sets the difference between the best plan with an option and the best one
// with the chosen option (with itself, if that is not known yet).
std::optional<Answer> FillRegret(const PlanStudy& study, GroupId group,
                                 int32_t option,
                                 const std::optional<Answer>& chosen,
                                 OptionReport& report) {
  absl::StatusOr<Answer> answer = study.Ask({.group = group, .option = option});
  if (!answer.ok()) {
    report.why_not = absl::IsResourceExhausted(answer.status())
                         ? absl::StrCat("does not fit into ",
                                        FormatBytes(study.plan().memory_bytes))
                         : std::string(answer.status().message());
    return std::nullopt;
  }
  const Answer& base = chosen.has_value() ? *chosen : *answer;
  report.regret = answer->seconds - base.seconds;
  report.is_exact = IsProved(*answer) && IsProved(base);
  report.peak_bytes = answer->peak_bytes;
  return *std::move(answer);
}

void SortByRegret(std::vector<OptionReport>& reports) {
  const auto key = [](const OptionReport& one) {
    const double infinity = std::numeric_limits<double>::infinity();
    return std::make_tuple(!one.is_chosen, !one.why_not.empty(),
                           one.regret.value_or(infinity),
                           one.regret_if_fixed.value_or(infinity));
  };
  std::stable_sort(reports.begin(), reports.end(),
                   [&](const OptionReport& a, const OptionReport& b) {
                     return key(a) < key(b);
                   });
}

std::vector<MoveReport> MovesTo(const PlanStudy& study, GroupId group,
                                const StudyNames& names) {
  std::vector<MoveReport> reports;
  const MeshProblem& problem = study.problem();
  for (const GroupUse& use : study.model().uses) {
    if (use.user != group) continue;
    const GroupValue& value = study.model().values[use.value];
    const int32_t from = study.chosen()[value.group];
    if (from < 0 || !value.shape->IsArray() ||
        study.model().rule(value.group).cheap_to_repeat) {
      continue;
    }
    const std::vector<ReshardStep>& path = study.PathOf(
        value.shape->element_type,
        problem
            .pool()[problem.options(value.group)[from].results[value.result]],
        problem.pool()[problem.options(group)[study.chosen()[group]]
                           .operands[use.operand]]);
    MoveReport report{.operand = use.operand,
                      .from = study.NameOf(value.group),
                      .shown = names.Of(value.group),
                      .moves = ToString(path, study.plan().mesh())};
    for (const ReshardStep& step : path) report.seconds += step.price;
    report.seconds *= use.weight;
    reports.push_back(std::move(report));
  }
  return reports;
}

}  // namespace

absl::StatusOr<ChoiceReport> ExplainChoice(const PlanStudy& study,
                                           GroupId group,
                                           const ChoiceLimits& limits) {
  const int32_t chosen = study.chosen()[group];
  if (chosen < 0) {
    return absl::NotFoundError(
        absl::StrCat("the plan splits ", study.NameOf(group),
                     " in a way that is none of the search's options"));
  }
  const StudyNames names(study);
  ChoiceReport report{.name = study.NameOf(group),
                      .shown = names.Of(group),
                      .opcode = study.OpcodeOf(group),
                      .shape = study.ShapeOf(group),
                      .count = std::ssize(study.model().groups.members[group])};
  const auto pin = study.pins().find(group);
  if (pin != study.pins().end()) {
    report.pin = ToString(pin->second[0].asked, study.plan().mesh());
  }
  const LocalView local(study);
  report.options = LookAtOptions(study, group, local);
  std::optional<Answer> best;
  const std::vector<int32_t> order = InOrder(report.options);
  for (size_t i = 0; i < order.size(); ++i) {
    if (static_cast<int>(i) > limits.options) break;
    OptionReport& one = report.options[order[i]];
    std::optional<Answer> answer =
        FillRegret(study, group, order[i], best, one);
    if (one.is_chosen) best = std::move(answer);
  }
  SortByRegret(report.options);
  report.moves = MovesTo(study, group, names);
  if (limits.break_evens) {
    report.break_evens = FindBreakEvens(study, group);
    report.least_speed = 1 / kMostLinkFactor;
    report.most_speed = kMostLinkFactor;
  }
  return report;
}

std::vector<BlockReport> ExplainBlocks(const PlanStudy& study,
                                       const Blocks& blocks, int questions) {
  struct Kind {
    GroupId group;  // Group of the keys.
    int64_t count = 0;
    int64_t members = 0;
    std::set<GroupId> groups;  // Groups of all members.
    double seconds = 0;
  };
  std::vector<Kind> kinds;
  std::map<int32_t, size_t> known;
  const std::vector<GroupId>& group_of = study.model().groups.group_of;
  for (const Block& block : blocks.blocks) {
    const GroupId group = group_of[block.key];
    if (group < 0 || study.chosen()[group] < 0) continue;
    const auto [entry, is_new] = known.try_emplace(group, kinds.size());
    if (is_new) {
      kinds.push_back({.group = group, .members = std::ssize(block.members)});
    }
    Kind& kind = kinds[entry->second];
    ++kind.count;
    for (const LabelledOp& member : block.members) {
      if (group_of[member.op] >= 0) kind.groups.insert(group_of[member.op]);
    }
  }
  const LocalView local(study);
  const auto cost_in = [&](const Kind& kind, const Answer& answer) {
    return local.Of({kind.groups.begin(), kind.groups.end()}, answer.nodes);
  };
  for (Kind& kind : kinds) {
    kind.seconds = SecondsOfUnits(cost_in(kind, study.as_planned()).compute);
  }
  std::stable_sort(
      kinds.begin(), kinds.end(),
      [](const Kind& a, const Kind& b) { return a.seconds > b.seconds; });
  // The questions are divided evenly among the blocks; the first ones get the
  // remainder.
  int left = questions;
  std::vector<BlockReport> reports;
  const StudyNames names(study);
  for (size_t k = 0; k < kinds.size(); ++k) {
    const Kind& kind = kinds[k];
    BlockReport report{.name = study.NameOf(kind.group),
                       .shown = names.Of(kind.group),
                       .shape = study.ShapeOf(kind.group),
                       .count = kind.count,
                       .members = kind.members};
    report.options = LookAtOptions(study, kind.group, local);
    const int share = std::max(3, left / static_cast<int>(kinds.size() - k));
    int used = 0;
    std::optional<Answer> best;
    for (const int32_t option : InOrder(report.options)) {
      if (used == share || left == 0) break;
      ++used;
      --left;
      OptionReport& one = report.options[option];
      std::optional<Answer> answer =
          FillRegret(study, kind.group, option, best, one);
      if (answer.has_value()) {
        const LocalCost cost = cost_in(kind, *answer);
        one.compute_seconds = SecondsOfUnits(cost.compute);
        one.move_seconds = SecondsOfUnits(cost.moves);
      }
      if (one.is_chosen) best = std::move(answer);
    }
    SortByRegret(report.options);
    reports.push_back(std::move(report));
  }
  return reports;
}

}  // namespace meshwright
