// Improves an assignment by solving random induced forests of nodes exactly
// while the other nodes are fixed.
//
// With the rest fixed, the nodes of an induced forest are a tree problem, which
// dynamic programming solves; so a sweep never makes the assignment worse. A
// random forest covers about three quarters of the nodes.
#ifndef MESHWRIGHT_SOLVE_FOREST_SWEEP_H_
#define MESHWRIGHT_SOLVE_FOREST_SWEEP_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "meshwright/solve/core.h"
#include "meshwright/solve/random.h"

namespace meshwright {

class ForestSweep {
 public:
  explicit ForestSweep(const Core& core);

  // Chooses options anew for a random forest among `nodes` under `unary` (by
  // option of all nodes) plus the edge costs. Returns the work: cells touched.
  int64_t Run(absl::Span<const int32_t> nodes, const std::vector<double>& unary,
              Random& random, std::vector<int32_t>& choice);

  // A breadth-first ball of at most `size` nodes around `start`, written to
  // `ball`, with neighbours in random order.
  void Ball(int32_t start, int32_t size, Random& random,
            std::vector<int32_t>& ball);

 private:
  int32_t Root(int32_t v);
  bool ClosesCycle(int32_t v);
  void PickForest(absl::Span<const int32_t> nodes, Random& random);
  void OrderTree(int32_t root);
  void Gather(int32_t v, const std::vector<double>& unary,
              const std::vector<int32_t>& choice);

  const Core& core_;
  std::vector<int32_t> union_;        // By node: union-find parent.
  std::vector<int32_t> mark_;         // By node: in the forest if == stamp_.
  std::vector<int32_t> parent_link_;  // By node: the link to its parent.
  std::vector<int32_t> visited_;
  std::vector<int64_t> seen_;  // By root: beside the node of this look.
  int64_t look_ = 0;
  int32_t stamp_ = 0;
  std::vector<int32_t> order_;  // Parents before children.
  std::vector<int32_t> shuffled_, roots_;
  std::vector<double> sum_;  // By option of all nodes.
  std::vector<double> message_;
  int64_t work_ = 0;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_SOLVE_FOREST_SWEEP_H_
