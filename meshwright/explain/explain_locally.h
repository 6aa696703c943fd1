// The effect of changing one choice while everything else stays as planned.
#ifndef MESHWRIGHT_EXPLAIN_EXPLAIN_LOCALLY_H_
#define MESHWRIGHT_EXPLAIN_EXPLAIN_LOCALLY_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "meshwright/explain/explain_study.h"
#include "meshwright/solve/problem.h"

namespace meshwright {

struct LocalCost {
  int64_t compute = 0;
  int64_t moves = 0;  // Of operands and results; kInfiniteCost if impossible.
};

class LocalView {
 public:
  explicit LocalView(const PlanStudy& study);

  // With the other groups as planned; the shared forms of values may change.
  LocalCost Of(GroupId group, int32_t option) const;

  // Computing of these groups, and all reshards that involve any of them, with
  // the choices `nodes`.
  LocalCost Of(const std::vector<GroupId>& groups,
               const std::vector<int32_t>& nodes) const;

 private:
  int64_t Cell(const ProblemEdge& edge, int32_t a, int32_t b) const;

  const Problem& problem_;
  const std::vector<int32_t>& planned_;
  const int32_t groups_;
  std::vector<std::vector<int32_t>> edges_of_;  // By node.
};

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPLAIN_EXPLAIN_LOCALLY_H_
