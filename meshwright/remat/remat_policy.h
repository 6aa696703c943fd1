// What is rematerialised and where segments begin: every threshold, with
// its reason. Not a part of the planner's policy: a plan says "full", and these
// values say which step that is, when the plan is made and whenever it is
// loaded. A change of one makes plans with rematerialisation refused.
#ifndef MESHWRIGHT_REMAT_REMAT_POLICY_H_
#define MESHWRIGHT_REMAT_REMAT_POLICY_H_

#include <array>
#include <cstdint>

namespace meshwright {

struct RematPolicy {
  // A contraction with fewer operations than this per element of its result
  // takes no longer than storing the result and reading it back: devices do
  // hundreds of operations in the time in which they move a byte.
  double expensive_contraction = 512;
  // The part of its residuals that must be saved for a loop to be worth
  // changing.
  double least_saved = 0.05;
  // If nothing repeats: the numbers of parts, by what the backward pass reads,
  // that are tried.
  std::array<int, 9> parts = {2, 3, 4, 6, 8, 12, 16, 24, 32};
  // With more contractions than this that do not repeat, no optimal cut is
  // searched for; the search is quadratic in them.
  int32_t most_gaps = 4000;
};
inline constexpr RematPolicy kRematPolicy;

}  // namespace meshwright

#endif  // MESHWRIGHT_REMAT_REMAT_POLICY_H_
