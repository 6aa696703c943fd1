// Sensitivity: how far links and memory can change before a choice is not the
// best any more.
#ifndef MESHWRIGHT_EXPLAIN_BREAK_EVEN_H_
#define MESHWRIGHT_EXPLAIN_BREAK_EVEN_H_

#include <cstdint>
#include <vector>

#include "meshwright/explain/explain.h"
#include "meshwright/explain/explain_study.h"

namespace meshwright {

// Links up to this many times slower and faster are tried.
inline constexpr double kMostLinkFactor = 64;

// The nearest break-even point on each side, to about 10 %; empty if there is
// none. Requires: the chosen option is known to the study.
std::vector<BreakEven> FindBreakEvens(const PlanStudy& study, GroupId group);

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPLAIN_BREAK_EVEN_H_
