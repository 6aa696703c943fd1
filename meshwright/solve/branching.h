// Branch and bound for small cores.
//
// Splits the options of one node in two, repeatedly, depth first. Every
// subproblem is reduced, inherits prices and messages from its parent, and is
// dropped once its bound, verified in integers, reaches the best known cost.
#ifndef MESHWRIGHT_SOLVE_BRANCHING_H_
#define MESHWRIGHT_SOLVE_BRANCHING_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "meshwright/solve/core.h"
#include "meshwright/solve/dual.h"

namespace meshwright {

class Branching {
 public:
  // Costs here exclude `core.constant`. Searches only for assignments cheaper
  // than `upper`.
  Branching(const Core& core, DualStart start, int64_t upper, uint64_t seed);

  // Continues until `work` is spent, the search is complete, or `stop` returns
  // true. Returns the work done.
  int64_t Run(int64_t work, absl::FunctionRef<bool()> stop);

  // Informs the search of a cheaper assignment found elsewhere.
  void SetUpper(int64_t upper) { upper_ = std::min(upper_, upper); }
  int64_t upper() const { return upper_; }
  // The cheapest assignment found here, as a choice of the core; empty if none.
  const std::vector<int32_t>& best() const { return best_; }
  bool done() const { return open_.empty(); }
  // A lower bound: no assignment that is cheaper than upper() costs less.
  int64_t bound() const;

 private:
  // An open subproblem.
  struct Part {
    std::shared_ptr<const Graph> graph;
    // The core of its parent.
    std::shared_ptr<const Core> before;
    DualStart start;
    int64_t bound = 0;
    // The restriction: these options of this node; none if node < 0.
    int32_t node = -1;
    std::vector<int32_t> options;
  };

  int64_t Examine(Part part, absl::FunctionRef<bool()> stop);
  bool Take(const Graph& graph, const Core& core,
            absl::Span<const int32_t> choice);
  void Split(std::shared_ptr<const Graph> graph,
             std::shared_ptr<const Core> core, const Dual& dual,
             absl::Span<const double> slack, int64_t bound);

  Problem problem_;
  uint64_t seed_;
  int64_t upper_;
  std::vector<int32_t> best_;
  std::vector<Part> open_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_SOLVE_BRANCHING_H_
