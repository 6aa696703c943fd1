// What planning has tried, and how long each part took.
#ifndef MESHWRIGHT_PLANNER_PLAN_LOG_H_
#define MESHWRIGHT_PLANNER_PLAN_LOG_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "meshwright/base/stopwatch.h"
#include "meshwright/plan/plan.h"
#include "meshwright/planner/planner.h"

namespace meshwright {

// The phases of planning, in their order. Every second is counted in the phase
// entered last.
inline constexpr char kEnumerate[] = "enumerate";  // Step variants to try.
inline constexpr char kSketch[] = "sketch";        // Coarse candidates.
inline constexpr char kPrune[] = "prune";
inline constexpr char kRefine[] = "refine";  // With more solver work.
inline constexpr char kLower[] = "lower";    // To programs, and their prices.
inline constexpr char kChoose[] = "choose";
inline constexpr char kProve[] = "prove";         // A bound for the chosen one.
inline constexpr char kExperts[] = "experts";     // Their plans, all phases.
inline constexpr char kStages[] = "stages";       // Pipelines, all phases.
inline constexpr char kWhatFits[] = "what_fits";  // When nothing does.

struct PlanLog {
  // Set for what the user asked for, not for plans that only help to find it.
  PlanRecorder record;
  Stopwatch watch;  // Started when planning began.
  std::vector<Alternative> alternatives;
  std::vector<std::string> notes;
  std::map<std::string, double> seconds;  // By phase of planning.
  std::vector<Plan> finalists;            // If SearchMode::keeps_finalists.
  std::string phase = kEnumerate;         // The present one,
  double since = 0;                       // and its begin, by `watch`.

  void Add(Alternative one) {
    alternatives.push_back(std::move(one));
    Enter(phase);
  }

  // Ends the present phase and begins `next`; returns the one that ended.
  std::string Enter(std::string next) {
    const double now = watch.seconds();
    seconds[phase] += now - since;
    since = now;
    if (record) record({alternatives, seconds});
    return std::exchange(phase, std::move(next));
  }
};

// A phase that lasts as long as this; the one before it then goes on.
class InPhase {
 public:
  InPhase(PlanLog& log, const char* phase)
      : log_(log), before_(log.Enter(phase)) {}
  ~InPhase() { log_.Enter(before_); }
  InPhase(const InPhase&) = delete;
  InPhase& operator=(const InPhase&) = delete;

 private:
  PlanLog& log_;
  const std::string before_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_PLAN_LOG_H_
