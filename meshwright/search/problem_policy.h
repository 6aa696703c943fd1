// What the strategy problem of a step consists of: every threshold, with its
// reason. Not a part of MeshPolicy: `explain` builds the problem of a plan
// anew, and has to get the same one.
#ifndef MESHWRIGHT_SEARCH_PROBLEM_POLICY_H_
#define MESHWRIGHT_SEARCH_PROBLEM_POLICY_H_

#include <cstddef>

namespace meshwright {

struct ProblemPolicy {
  // Ops are equivalent if all within this number of steps of them do the same.
  // Large enough to distinguish the positions in a layer, small enough that
  // only the outermost layers differ because of the model's ends.
  int refinement_rounds = 10;
  // Times at which memory is counted: each is a constraint of the problem, and
  // liveness changes little between two of them.
  size_t memory_points = 48;
  // Padding may enlarge a dimension by this part; strategies that waste more
  // are hardly ever chosen.
  double most_padding = 0.125;
};
inline constexpr ProblemPolicy kProblemPolicy;

}  // namespace meshwright

#endif  // MESHWRIGHT_SEARCH_PROBLEM_POLICY_H_
