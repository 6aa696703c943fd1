// What planning has looked at, and how long that took.
#ifndef MESHWRIGHT_PLANNER_PLAN_LOG_H_
#define MESHWRIGHT_PLANNER_PLAN_LOG_H_

#include <map>
#include <string>
#include <vector>

#include "meshwright/base/stopwatch.h"
#include "meshwright/plan/plan.h"

namespace meshwright {

struct PlanLog {
  Stopwatch watch;  // Since planning began.
  std::vector<Alternative> alternatives;
  std::vector<std::string> notes;
  std::map<std::string, double> seconds;  // By part of the work.
  std::vector<Plan> finalists;            // If the task keeps them.
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_PLAN_LOG_H_
