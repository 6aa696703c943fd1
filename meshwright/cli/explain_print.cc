#include "meshwright/cli/explain_print.h"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "meshwright/api/alternatives_text.h"
#include "meshwright/api/plan_text.h"
#include "meshwright/base/fold_names.h"
#include "meshwright/base/units.h"

namespace meshwright {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxBlockOptions = 4;

// Both names if they differ.
std::string Shown(const std::string& shown, const std::string& name) {
  return shown == name ? name : absl::StrCat(shown, " [", name, "]");
}

// Blocks with the same sharding whose names differ only in numbers.
struct BlockRow {
  const BlockReport* first = nullptr;
  std::vector<std::string> names;
  int64_t count = 0;
};

std::vector<BlockRow> FoldBlocks(const std::vector<BlockReport>& blocks) {
  std::vector<BlockRow> rows;
  const auto is_alike = [](const BlockReport& a, const BlockReport& b) {
    return a.shape == b.shape && !a.options.empty() && !b.options.empty() &&
           a.options[0].text == b.options[0].text &&
           FoldNames({a.shown, b.shown}).size() == 1;
  };
  for (const BlockReport& block : blocks) {
    BlockRow* row = nullptr;
    for (BlockRow& one : rows) {
      if (is_alike(*one.first, block)) row = &one;
    }
    if (row == nullptr) row = &rows.emplace_back(BlockRow{&block, {}, 0});
    row->names.push_back(block.shown);
    row->count += block.count;
  }
  return rows;
}

std::string TimesAlike(int64_t count, const char* what) {
  return count == 1 ? "" : absl::StrCat(", ", count, " ", what, " alike");
}

// The cost of choosing it instead.
std::string Difference(const OptionReport& option) {
  if (option.is_chosen) return "chosen";
  if (!option.why_not.empty()) return "impossible";
  if (option.regret.has_value()) {
    return absl::StrCat(SignedSeconds(*option.regret),
                        option.is_exact ? "" : "?");
  }
  if (option.regret_if_fixed.has_value()) {
    return absl::StrCat(SignedSeconds(*option.regret_if_fixed), " *");
  }
  return "not tried";
}

void PrintOption(const OptionReport& option, const char* indent) {
  absl::PrintF("%s%-12s %s\n", indent, Difference(option), option.text);
  std::string line = absl::StrCat(
      "compute ", FormatSeconds(option.compute_seconds), ", moves ",
      option.move_seconds.has_value() ? FormatSeconds(*option.move_seconds)
                                      : "-",
      ", ", FormatBytes(option.bytes), " of result");
  if (option.peak_bytes.has_value()) {
    absl::StrAppend(&line, ", step holds ", FormatBytes(*option.peak_bytes));
  }
  if (!option.is_allowed) {
    absl::StrAppend(&line, "; not what the strategy or a pin asks");
  }
  if (!option.why_not.empty()) absl::StrAppend(&line, "; ", option.why_not);
  absl::PrintF("%s%-12s %s\n", indent, "", line);
}

void PrintLegend(const std::vector<OptionReport>& options) {
  bool fixed = false;
  bool open = false;
  for (const OptionReport& one : options) {
    fixed = fixed || absl::StrContains(Difference(one), "*");
    open = open || absl::StrContains(Difference(one), "?");
  }
  absl::PrintF("  +: a step takes so much more, all else at its best\n");
  if (fixed) absl::PrintF("  *: all else as planned\n");
  if (open) absl::PrintF("  ?: as far as was found; it may be less\n");
}

const char* Words(BreakEven::Of of) {
  switch (of) {
    case BreakEven::Of::kSlowerLinks:
      return "slower links";
    case BreakEven::Of::kFasterLinks:
      return "faster links";
    case BreakEven::Of::kLessMemory:
      return "less memory";
    case BreakEven::Of::kMoreMemory:
      return "more memory";
  }
  return "";
}

void PrintFlips(const ChoiceReport& report) {
  absl::PrintF("what would change it\n");
  for (const BreakEven& point : report.break_evens) {
    std::string when;
    if (point.of == BreakEven::Of::kSlowerLinks) {
      when = absl::StrFormat("links %.2g times slower", 1 / point.factor);
    } else if (point.of == BreakEven::Of::kFasterLinks) {
      when = absl::StrFormat("links %.2g times faster", point.factor);
    } else {
      when = absl::StrCat(FormatBytes(point.bytes), " per device");
    }
    absl::PrintF(
        "  %-28s %s\n", absl::StrCat(when, point.is_exact ? "" : "?"),
        point.instead.empty() ? "nothing was found that fits" : point.instead);
  }
  if (report.break_evens.empty()) {
    absl::PrintF(
        "  no memory limit, no links from %g times slower to %g times "
        "faster\n",
        1 / report.least_speed, report.most_speed);
  }
}

void PrintBlocks(const std::vector<BlockReport>& blocks) {
  if (blocks.empty()) return;
  absl::PrintF("blocks, those with most computing first\n");
  std::vector<OptionReport> shown;
  for (const BlockRow& row : FoldBlocks(blocks)) {
    const BlockReport& block = *row.first;
    absl::PrintF("  %s %s, %s in its block%s\n",
                 Shown(FoldedList(row.names, 1), block.name), block.shape,
                 Counted(block.members, "op"), TimesAlike(row.count, "blocks"));
    if (row.names.size() > 1) absl::PrintF("    as of the first of them:\n");
    for (size_t i = 0; i < block.options.size(); ++i) {
      if (i == kMaxBlockOptions) {
        absl::PrintF("    and %s\n", Counted(std::ssize(block.options) -
                                                 static_cast<int64_t>(i),
                                             "other way"));
        break;
      }
      PrintOption(block.options[i], "    ");
      shown.push_back(block.options[i]);
    }
  }
  PrintLegend(shown);
}

Json OptionJson(const OptionReport& option) {
  Json json = {{"option", option.text},
               {"chosen", option.is_chosen},
               {"allowed", option.is_allowed},
               {"compute_seconds", option.compute_seconds},
               {"move_seconds", nullptr},
               {"bytes", option.bytes},
               {"peak_bytes", nullptr},
               {"regret_seconds", nullptr},
               {"exact", option.is_exact},
               {"regret_if_fixed_seconds", nullptr},
               {"why_not", option.why_not}};
  if (option.move_seconds) json["move_seconds"] = *option.move_seconds;
  if (option.peak_bytes) json["peak_bytes"] = *option.peak_bytes;
  if (option.regret) json["regret_seconds"] = *option.regret;
  if (option.regret_if_fixed) {
    json["regret_if_fixed_seconds"] = *option.regret_if_fixed;
  }
  return json;
}

Json OptionsJson(const std::vector<OptionReport>& options) {
  Json json = Json::array();
  for (const OptionReport& option : options) {
    json.push_back(OptionJson(option));
  }
  return json;
}

Json BlocksJson(const std::vector<BlockReport>& blocks) {
  Json json = Json::array();
  for (const BlockReport& block : blocks) {
    json.push_back({{"name", block.name},
                    {"shown", block.shown},
                    {"shape", block.shape},
                    {"count", block.count},
                    {"members", block.members},
                    {"options", OptionsJson(block.options)}});
  }
  return json;
}

}  // namespace

void Print(const PlanReport& report) {
  const Plan& plan = report.plan;
  absl::PrintF("%s: %s, %s, %sstrategy %s\n", plan.module_name, MeshText(plan),
               Counted(plan.micro_batches, "micro-batch"),
               RecomputeText(plan.recompute), Name(plan.strategy));
  absl::PrintF("%s", AlternativesText(plan));
  absl::PrintF("held back by%s\n", report.binds.empty()
                                       ? " nothing: no limit or pin costs time"
                                       : "");
  for (const BindReport& bind : report.binds) {
    absl::PrintF("  %s %s: without it a step takes %s less\n", bind.what,
                 bind.asked, FormatSeconds(bind.saves));
  }
  PrintBlocks(report.blocks);
}

void Print(const PartReport& report) {
  absl::PrintF("%s\n", report.name);
  for (const PartChoice& choice : report.choices) {
    absl::PrintF(
        "  %s (%s %s%s): %s\n", Shown(choice.shown, choice.name), choice.opcode,
        choice.shape, TimesAlike(choice.count, "ops"),
        choice.option.empty() ? "none of the search's options" : choice.option);
  }
  PrintBlocks(report.blocks);
}

void Print(const ChoiceReport& report) {
  absl::PrintF("%s (%s %s%s)\n", Shown(report.shown, report.name),
               report.opcode, report.shape, TimesAlike(report.count, "ops"));
  if (!report.pin.empty()) absl::PrintF("pinned to %s\n", report.pin);
  for (const OptionReport& option : report.options) PrintOption(option, "  ");
  PrintLegend(report.options);
  if (!report.moves.empty())
    absl::PrintF("how its operands come, as planned\n");
  for (const MoveReport& move : report.moves) {
    absl::PrintF(
        "  %d from %s: %s\n", move.operand, Shown(move.shown, move.from),
        move.moves.empty()
            ? "as it is sharded"
            : absl::StrCat(move.moves, ", ", FormatSeconds(move.seconds)));
  }
  PrintFlips(report);
}

nlohmann::ordered_json ToJson(const PlanReport& report) {
  const Plan& plan = report.plan;
  Json meshes = Json::array();
  for (const Alternative& one : plan.alternatives) {
    meshes.push_back({{"mesh", one.mesh},
                      {"micro_batches", one.micro_batches},
                      {"recompute", std::string(Name(one.recompute))},
                      {"seconds", one.seconds},
                      {"bound", one.bound},
                      {"why_not", one.why_not},
                      {"predicted_seconds", one.predicted_seconds}});
  }
  Json binds = Json::array();
  for (const BindReport& bind : report.binds) {
    binds.push_back({{"what", bind.what},
                     {"asked", bind.asked},
                     {"saves_seconds", bind.saves}});
  }
  return {{"mesh", plan.mesh().ToString()},
          {"micro_batches", plan.micro_batches},
          {"recompute", std::string(Name(plan.recompute))},
          {"strategy", std::string(Name(plan.strategy))},
          {"alternatives", meshes},
          {"binds", binds},
          {"blocks", BlocksJson(report.blocks)}};
}

nlohmann::ordered_json ToJson(const PartReport& report) {
  Json choices = Json::array();
  for (const PartChoice& choice : report.choices) {
    choices.push_back({{"name", choice.name},
                       {"shown", choice.shown},
                       {"opcode", choice.opcode},
                       {"shape", choice.shape},
                       {"count", choice.count},
                       {"option", choice.option}});
  }
  return {{"part", report.name},
          {"choices", choices},
          {"blocks", BlocksJson(report.blocks)}};
}

nlohmann::ordered_json ToJson(const ChoiceReport& report) {
  Json moves = Json::array();
  for (const MoveReport& move : report.moves) {
    moves.push_back({{"operand", move.operand},
                     {"from", move.from},
                     {"from_shown", move.shown},
                     {"moves", move.moves},
                     {"seconds", move.seconds}});
  }
  Json break_evens = Json::array();
  for (const BreakEven& point : report.break_evens) {
    break_evens.push_back({{"of", Words(point.of)},
                           {"factor", point.factor},
                           {"bytes", nullptr},
                           {"instead", point.instead},
                           {"exact", point.is_exact}});
    if (point.of == BreakEven::Of::kLessMemory ||
        point.of == BreakEven::Of::kMoreMemory) {
      break_evens.back()["bytes"] = point.bytes;
    }
  }
  return {{"name", report.name},
          {"shown", report.shown},
          {"opcode", report.opcode},
          {"shape", report.shape},
          {"count", report.count},
          {"pin", report.pin},
          {"options", OptionsJson(report.options)},
          {"moves", moves},
          {"flips", break_evens},
          {"least_link_speed", report.least_speed},
          {"most_link_speed", report.most_speed}};
}

}  // namespace meshwright
