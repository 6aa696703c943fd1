// How far links and memory can change before a choice is not the best any more.
#ifndef MESHWRIGHT_EXPLAIN_EXPLAIN_FLIPS_H_
#define MESHWRIGHT_EXPLAIN_EXPLAIN_FLIPS_H_

#include <cstdint>
#include <vector>

#include "meshwright/explain/explain.h"
#include "meshwright/explain/explain_study.h"

namespace meshwright {

// Links up to this many times slower and faster are tried.
inline constexpr double kMostLinkFactor = 64;

// The nearest flip on each side, to about 10 %; none where there is none.
// Requires: the study knows the chosen option.
std::vector<Flip> FindFlips(const PlanStudy& study, int32_t group);

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPLAIN_EXPLAIN_FLIPS_H_
