// Reads and writes timetables as CSV.
#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "meshwright/base/annotate.h"
#include "meshwright/schedule/simulate.h"
#include "meshwright/schedule/timetable.h"

namespace meshwright {
namespace {

// Stages and micro-batches of timetables in files must be below these limits.
constexpr int kMaxListedStages = 1 << 16;
constexpr int kMaxListedMicroBatches = 1 << 20;

absl::Status Place(const Action& action, int rank, Timetable& timetable) {
  if (action.stage >= kMaxListedStages ||
      action.micro_batch >= kMaxListedMicroBatches) {
    return absl::InvalidArgumentError(
        absl::StrCat("stages are below ", kMaxListedStages,
                     ", micro-batches below ", kMaxListedMicroBatches));
  }
  if (action.stage >= timetable.stages()) {
    timetable.rank_of_stage.resize(static_cast<size_t>(action.stage) + 1, -1);
  }
  int& home = timetable.rank_of_stage[action.stage];
  if (home >= 0 && home != rank) {
    return absl::InvalidArgumentError(absl::StrCat(
        "stage ", int{action.stage}, " is on device ", home, " too"));
  }
  home = rank;
  timetable.micro_batches =
      std::max(timetable.micro_batches, action.micro_batch + 1);
  return absl::OkStatus();
}

}  // namespace

std::string ToCsv(const Timetable& timetable) {
  std::string text;
  for (const std::vector<Action>& row : timetable.rows) {
    absl::StrAppend(&text,
                    absl::StrJoin(row, ",",
                                  [](std::string* out, const Action& action) {
                                    absl::StrAppend(out, ToString(action));
                                  }),
                    "\n");
  }
  return text;
}

std::string ToAlignedCsv(const Timetable& timetable) {
  const auto simulation = Simulate(
      timetable,
      EvenCosts(
          timetable.stages(),
          {.forward = 1, .input_grad = 1, .weight_grad = 1, .backward = 1}));
  if (!simulation.ok()) return ToCsv(timetable);
  std::string text;
  for (const std::vector<TimedAction>& row : simulation->rows) {
    std::vector<std::string> cells;
    for (const TimedAction& timed : row) {
      cells.resize(static_cast<size_t>(timed.begin + 0.5));
      cells.push_back(ToString(timed.action));
    }
    absl::StrAppend(&text, absl::StrJoin(cells, ","), "\n");
  }
  return text;
}

absl::StatusOr<Timetable> ParseCsv(absl::string_view text) {
  Timetable timetable;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (line.empty()) continue;
    const int rank = timetable.ranks();
    timetable.rows.emplace_back();
    int cell_number = 0;
    for (absl::string_view cell : absl::StrSplit(line, ',')) {
      ++cell_number;
      cell = absl::StripAsciiWhitespace(cell);
      if (cell.empty()) continue;
      const std::string where =
          absl::StrCat("device ", rank, ", cell ", cell_number);
      const absl::StatusOr<Action> action = ParseAction(cell);
      if (!action.ok()) return Annotate(action.status(), where);
      if (const absl::Status placed = Place(*action, rank, timetable);
          !placed.ok()) {
        return Annotate(placed, absl::StrCat(where, " (", cell, ")"));
      }
      timetable.rows.back().push_back(*action);
    }
  }
  if (timetable.rows.empty()) {
    return absl::InvalidArgumentError("the timetable is empty");
  }
  for (StageId stage{0}; stage < timetable.stages(); ++stage) {
    if (timetable.rank_of_stage[stage] < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("the timetable has stage ", timetable.stages() - 1,
                       " but no stage ", int{stage}));
    }
  }
  return timetable;
}

}  // namespace meshwright
