// What planning has tried, and how long each part took.
#ifndef MESHWRIGHT_PLANNER_PLAN_LOG_H_
#define MESHWRIGHT_PLANNER_PLAN_LOG_H_

#include <map>
#include <string>
#include <vector>

#include "meshwright/base/stopwatch.h"
#include "meshwright/plan/plan.h"

namespace meshwright {

struct PlanLog {
  Stopwatch watch;  // Started when planning began.
  std::vector<Alternative> alternatives;
  std::vector<std::string> notes;
  std::map<std::string, double> seconds;  // By phase of planning.
  std::vector<Plan> finalists;            // If SearchMode::keeps_finalists.
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_PLAN_LOG_H_
