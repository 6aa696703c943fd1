// The alternatives of a plan as text, with comparable prices.
//
//   meshes that were looked at        search     program
//     data=4,model=2           x1    13.1 ms    14.8 ms    chosen
//     data=8                   x1    12.9 ms    15.2 ms    +0.41 ms
//     data=2,model=4           x1    15.0 ms    -          +1.90 ms as the ...
//
// The search prices ops one by one; programs are priced as they run, fused and
// with combined collectives, but only the most promising candidates are
// lowered. Prices of the two kinds are never compared with each other.
#ifndef MESHWRIGHT_API_ALTERNATIVES_TEXT_H_
#define MESHWRIGHT_API_ALTERNATIVES_TEXT_H_

#include <string>

#include "meshwright/plan/plan.h"

namespace meshwright {

// Several lines: the plan, then its alternatives.
std::string AlternativesText(const Plan& plan);

// "selective recomputation, "; empty for kNone.
std::string RecomputeText(Recompute recompute);

// "+1.20 ms", "-0.31 ms"
std::string SignedSeconds(double seconds);

}  // namespace meshwright

#endif  // MESHWRIGHT_API_ALTERNATIVES_TEXT_H_
