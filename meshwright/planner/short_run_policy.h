// What planning is worth for a run of known length (short_run.h). A part of
// SearchPolicy.
#ifndef MESHWRIGHT_PLANNER_SHORT_RUN_POLICY_H_
#define MESHWRIGHT_PLANNER_SHORT_RUN_POLICY_H_

namespace meshwright {

struct ShortRunPolicy {
  // What experts' plans, a third mesh axis and pipelines gain together at most,
  // and the seconds that they take for each op of the step.
  double gain = 0.1;
  double seconds_of_op = 0.001;
  // Solver work in a second: 10^9 cells (solve.h).
  double cells_of_second = 1e9;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_SHORT_RUN_POLICY_H_
