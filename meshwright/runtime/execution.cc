// What happened in a step, in the form of a simulation.
#include <algorithm>
#include <numeric>
#include <utility>

#include "meshwright/runtime/job_runner.h"

namespace meshwright {

Simulation ExecutionOf(const Job& job, const StepReport& report) {
  const std::vector<int>& rank_of_stage = job.timetable.rank_of_stage;
  const int ranks = job.timetable.ranks();
  Simulation execution{.step_seconds = report.seconds};
  execution.busy_seconds.resize(ranks);
  execution.peak_bytes.resize(ranks);
  execution.rows.resize(ranks);
  execution.memory.resize(ranks);
  for (const RankRecord& record : report.ranks) {
    double busy = 0;
    for (const TimedAction& timed : record.actions) {
      busy += timed.end - timed.begin;
    }
    int64_t peak = 0;
    for (const MemoryPoint& point : record.memory) {
      peak = std::max(peak, point.bytes);
    }
    for (TimedTransfer transfer : record.received) {
      transfer.from_rank = rank_of_stage[transfer.send.stage];
      transfer.to_rank = record.rank;
      execution.transfers.push_back(transfer);
    }
    execution.peak_bytes[record.rank] =
        std::max(execution.peak_bytes[record.rank], peak);
    if (busy < execution.busy_seconds[record.rank]) continue;
    execution.busy_seconds[record.rank] = busy;
    execution.rows[record.rank] = record.actions;
    execution.memory[record.rank] = record.memory;
  }
  std::ranges::sort(execution.transfers, {}, &TimedTransfer::begin);
  execution.bubble_share =
      1 - std::accumulate(execution.busy_seconds.begin(),
                          execution.busy_seconds.end(), 0.0) /
              (execution.step_seconds * ranks);
  return execution;
}

}  // namespace meshwright
