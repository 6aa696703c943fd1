// A simulated timetable as text: a row per device, time from left to right.
//
//   0 F0 F1 F2          B0----F3 B1----   B2----   B3----
//   1    F0 F1    B0----F2 B1----F3 B2----   B3----
//
// The number is the micro-batch. If devices hold several stages, a small letter
// before it tells them apart: Fa0, Fb0.
#ifndef MESHWRIGHT_SCHEDULE_GRID_H_
#define MESHWRIGHT_SCHEDULE_GRID_H_

#include <string>
#include <vector>

#include "meshwright/schedule/simulate.h"

namespace meshwright {

struct GridOptions {
  int columns = 100;
  bool colour = false;  // With terminal escape sequences.
  // Longer timetables are broken into bands; beyond this many bands the middle
  // is left out.
  int max_bands = 3;
};

std::string DrawGrid(const Simulation& run,
                     const std::vector<int>& rank_of_stage,
                     const GridOptions& options = {});

}  // namespace meshwright

#endif  // MESHWRIGHT_SCHEDULE_GRID_H_
