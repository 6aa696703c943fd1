#include "meshwright/schedule/simulate.h"

#include "meshwright/base/check.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/schedule/clock.h"
#include "meshwright/schedule/validate.h"

namespace meshwright {
namespace {

// Keeps the order of the rows.
class RowDispatcher : public Dispatcher {
 public:
  explicit RowDispatcher(const Timetable& timetable)
      : rows_(timetable.rows), next_(timetable.rows.size()) {}

  std::optional<Action> Next(int rank, PipelineClock& clock) override {
    const std::vector<Action>& row = rows_[rank];
    size_t& next = next_[rank];
    for (; next < row.size() && IsTransfer(row[next].kind); ++next) {
      clock.Post(row[next]);
    }
    if (next == row.size() || !clock.IsReady(row[next])) return std::nullopt;
    return row[next++];
  }

 private:
  const std::vector<std::vector<Action>>& rows_;
  std::vector<size_t> next_;
};

}  // namespace

absl::StatusOr<Simulation> Simulate(const Timetable& timetable,
                                    const PipelineCosts& costs) {
  PipelineCosts unbounded = costs;
  unbounded.memory_bytes.clear();
  MW_RETURN_IF_ERROR(Validate(timetable, unbounded));
  return SimulateValid(timetable, costs, /*record=*/true);
}

Simulation SimulateValid(const Timetable& timetable, const PipelineCosts& costs,
                         bool record) {
  PipelineClock clock(
      timetable.rank_of_stage, timetable.ranks(), timetable.micro_batches,
      costs,
      {.explicit_transfers = timetable.has_transfers(), .record = record});
  RowDispatcher rows(timetable);
  MW_CHECK(clock.Run(rows)) << "the timetable is not valid";
  return clock.TakeResult();
}

}  // namespace meshwright
