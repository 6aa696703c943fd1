// An assignment of a core that changes node by node, with its cost and its
// usage at every point kept up to date.
#ifndef MESHWRIGHT_SOLVE_SELECTION_H_
#define MESHWRIGHT_SOLVE_SELECTION_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "meshwright/solve/core.h"

namespace meshwright {

class Selection {
 public:
  // Every node has its option 0.
  explicit Selection(const Core& core);

  const std::vector<int32_t>& choice() const { return choice_; }
  int32_t operator[](int32_t v) const { return choice_[v]; }
  // Excludes `core.constant`.
  int64_t cost() const { return cost_; }
  const std::vector<int64_t>& usage() const { return usage_; }
  int32_t broken_points() const { return broken_points_; }
  // Within all capacities and without a forbidden cost.
  bool allowed() const { return broken_points_ == 0 && cost_ < kCoreInfinity; }

  void Set(int32_t v, int32_t option);
  void Assign(absl::Span<const int32_t> choice);
  // By how much Set would change the cost.
  int64_t CostOf(int32_t v, int32_t option) const;
  // Whether Set exceeds no point that is within its capacity now.
  bool Fits(int32_t v, int32_t option) const;

 private:
  const Core* core_;
  std::vector<int32_t> choice_;
  std::vector<int64_t> usage_;  // By point.
  int64_t cost_ = 0;
  int32_t broken_points_ = 0;
};

// Single-node moves that lower the cost within the capacities, until there are
// none. Requires: selection.broken_points() == 0. Returns the work done.
int64_t Polish(const Core& core, absl::Span<const int32_t> nodes,
               Selection& selection);

}  // namespace meshwright

#endif  // MESHWRIGHT_SOLVE_SELECTION_H_
