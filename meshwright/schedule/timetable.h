// The order of actions on every rank.
//
//   0F0  0F1  0B0  0B1        rank 0 holds stage 0
//   1F0  1B0  1F1  1B1        rank 1 holds stage 1
//
// A compute-only timetable leaves transfers to whoever runs it; one with sends
// and receives names them all (insert_transfers.h).
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
std::vector<std::vector<int>> StagesByRank(
    const std::vector<int>& rank_of_stage, int ranks);

// The timetable without its sends and receives.
Timetable WithoutTransfers(const Timetable& timetable);
// I followed at once by W of the same stage and micro-batch becomes B.
Timetable MergeBackwards(const Timetable& timetable);

// One line per rank, cells between commas, as PyTorch's pipelining reads and
// writes them.
std::string ToCsv(const Timetable& timetable);
// The same with every action in the column of its time step, when each takes
// one: empty cells are bubbles. For compute-only timetables that are valid.
std::string ToAlignedCsv(const Timetable& timetable);
// Empty cells are skipped; the ranks of stages follow from where they occur.
// kInvalidArgument with line and cell of what is wrong.
absl::StatusOr<Timetable> ParseCsv(absl::string_view text);

}  // namespace meshwright

#endif  // MESHWRIGHT_SCHEDULE_TIMETABLE_H_
