// Branch and bound for small cores.
//
// Splits the options of one node in two, again and again, depth first. Every
// part is reduced, gets prices and messages from the part it was cut from, and
// is dropped once its bound, checked in integers, reaches the best cost known.
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
  // Costs here are without `core.constant`. Only cheaper assignments than
  // `upper` are looked for.
  Branching(const Core& core, DualStart start, int64_t upper, uint64_t seed);

  // Goes on until `work` is spent, all is done, or `stop`. Returns the work.
  int64_t Run(int64_t work, absl::FunctionRef<bool()> stop);

  // A cheaper assignment is known.
  void SetUpper(int64_t upper) { upper_ = std::min(upper_, upper); }
  int64_t upper() const { return upper_; }
  // The cheapest found here, as a choice of the core; empty when none was.
  const std::vector<int32_t>& best() const { return best_; }
  bool done() const { return open_.empty(); }
  // No assignment costs less, or less than upper().
  int64_t bound() const;

 private:
  // A part still to be looked at.
  struct Part {
    std::shared_ptr<const Graph> graph;
    // Of the part it was cut from.
    std::shared_ptr<const Core> before;
    DualStart start;
    int64_t bound = 0;
    // What to keep: these options of this node; all when node < 0.
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
