// The order of actions on every rank.
//
//   0F0  0F1  0B0  0B1        rank 0 holds stage 0
//   1F0  1B0  1F1  1B1        rank 1 holds stage 1
//
// A compute-only timetable leaves transfers to the runtime; one with sends and
// receives lists all of them (insert_transfers.h).
#ifndef MESHWRIGHT_SCHEDULE_TIMETABLE_H_
#define MESHWRIGHT_SCHEDULE_TIMETABLE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "meshwright/schedule/action.h"

namespace meshwright {

struct Timetable {
  int micro_batches = 0;
  std::vector<int> rank_of_stage;
  std::vector<std::vector<Action>> rows;  // By rank.

  int stages() const { return static_cast<int>(rank_of_stage.size()); }
  int ranks() const { return static_cast<int>(rows.size()); }
  bool has_transfers() const;

  bool operator==(const Timetable&) const = default;
};

// The stages of each rank, in order.
std::vector<std::vector<StageId>> StagesByRank(
    const std::vector<int>& rank_of_stage, int ranks);

// The timetable without its sends and receives.
Timetable WithoutTransfers(const Timetable& timetable);
// Replaces I followed immediately by W of the same stage and micro-batch by B.
Timetable MergeBackwards(const Timetable& timetable);

// One line per rank, cells separated by commas; the format of PyTorch's
// pipelining.
std::string ToCsv(const Timetable& timetable);
// The same with every action in the column of its time step, if each takes one:
// empty cells are bubbles. Requires: a valid compute-only timetable.
std::string ToAlignedCsv(const Timetable& timetable);
// Skips empty cells; a stage is on the rank in whose row it occurs.
// kInvalidArgument with the line and cell of what is wrong.
absl::StatusOr<Timetable> ParseCsv(absl::string_view text);

}  // namespace meshwright

#endif  // MESHWRIGHT_SCHEDULE_TIMETABLE_H_
