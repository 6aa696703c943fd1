// How far links and memory can change before a choice is not the best any more.
#ifndef MESHWRIGHT_PLANNER_EXPLAIN_FLIPS_H_
#define MESHWRIGHT_PLANNER_EXPLAIN_FLIPS_H_

#include <cstdint>
#include <vector>

#include "meshwright/planner/explain.h"
#include "meshwright/planner/explain_study.h"

namespace meshwright {

// Links up to this many times slower and faster are tried.
inline constexpr double kMostLinkFactor = 64;

// The nearest flip on each side, to about 10 %; none where there is none.
// Requires: the study knows the chosen option.
std::vector<Flip> FindFlips(const PlanStudy& study, int32_t group);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_EXPLAIN_FLIPS_H_
