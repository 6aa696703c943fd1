// Simulated or executed timetables as a trace for Perfetto (ui.perfetto.dev) or
// chrome://tracing.
//
//   WriteFileAtomically("step.json", ToTrace({{"simulated", &simulation}}));
//
// A process per run, a track per device with slices "PP:2F0", a track per link
// with slices "PP:1SEND_F0", a counter of held bytes per device.
#ifndef MESHWRIGHT_SCHEDULE_TRACE_H_
#define MESHWRIGHT_SCHEDULE_TRACE_H_

#include <string>
#include <vector>

#include "meshwright/schedule/simulate.h"

namespace meshwright {

struct TracedRun {
  std::string name;
  // Its rows, transfers and memory are drawn; totals are ignored. The times of
  // an execution are given in the same struct.
  const Simulation* run = nullptr;
};

// One JSON object in the trace event format, times in microseconds.
std::string ToTrace(const std::vector<TracedRun>& runs);

}  // namespace meshwright

#endif  // MESHWRIGHT_SCHEDULE_TRACE_H_
