// What else a plan could have been, with prices that can be compared.
//
//   meshes that were looked at        search     program
//     data=4,model=2           x1    13.1 ms    14.8 ms    chosen
//     data=8                   x1    12.9 ms    15.2 ms    +0.41 ms
//     data=2,model=4           x1    15.0 ms    -          +1.90 ms as the ...
//
// The search counts ops one by one; programs are priced as they run, fused and
// combined, but only the most promising are written. The one is never compared
// with the other.
#ifndef MESHWRIGHT_API_ALTERNATIVES_TEXT_H_
#define MESHWRIGHT_API_ALTERNATIVES_TEXT_H_

#include <string>

#include "meshwright/plan/plan.h"

namespace meshwright {

// The plan, then its alternatives; lines.
std::string AlternativesText(const Plan& plan);

// "selective recomputation, "; empty for none.
std::string RecomputeText(const std::string& recompute);

// "+1.20 ms", "-0.31 ms"
std::string SignedSeconds(double seconds);

}  // namespace meshwright

#endif  // MESHWRIGHT_API_ALTERNATIVES_TEXT_H_
