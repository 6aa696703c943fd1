// Searches for better assignments of a core.
//
// Three moves: *repair* brings an assignment within the capacities by raising
// the prices of exceeded points between sweeps; *polish* (selection.h) changes
// single nodes; a *neighbourhood* move chooses anew for a ball of nodes under
// scaled prices while all others are fixed (large neighbourhood search).
#ifndef MESHWRIGHT_SOLVE_PRIMAL_H_
#define MESHWRIGHT_SOLVE_PRIMAL_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "meshwright/solve/core.h"
#include "meshwright/solve/forest_sweep.h"
#include "meshwright/solve/prices.h"
#include "meshwright/solve/random.h"
#include "meshwright/solve/selection.h"

namespace meshwright {

class Primal {
 public:
  // Only assignments cheaper than `upper` count. Costs here exclude
  // `core.constant`.
  Primal(const Core& core, int64_t upper, uint64_t seed);

  // `upper`, or the cost of the best assignment found.
  int64_t best_cost() const { return best_cost_; }
  // Empty if none was found.
  const std::vector<int32_t>& best() const { return best_; }
  // Whether an assignment within the capacities is known, cheap or not.
  bool has_start() const { return has_start_; }

  // Good prices, from the dual.
  void SetPrices(const Prices& prices) { prices_ = prices; }
  // Repairs an assignment, which may exceed limits. Returns the work done.
  int64_t Offer(absl::Span<const int32_t> choice,
                absl::FunctionRef<bool()> stop);
  // An allowed assignment that was found elsewhere.
  void Adopt(absl::Span<const int32_t> choice);
  // Tries at most `attempts` times to find a first assignment.
  int64_t FindFirst(int attempts, absl::FunctionRef<bool()> stop);
  // Neighbourhood moves until `work` is spent or `stop`. Returns the work done.
  int64_t Run(int64_t work, absl::FunctionRef<bool()> stop);

 private:
  bool TryPrices(const Prices& prices);
  bool Repair(Prices& prices, int rounds, absl::FunctionRef<bool()> stop);
  void KeepOrReturn(absl::Span<const int32_t> before);
  bool Keep(double margin);
  void RaiseBroken(const std::vector<int64_t>& usage, double part,
                   Prices& prices) const;
  bool Neighbourhood(double margin);
  void PriceBall(const Prices& prices);
  bool SearchBall(Prices& prices);

  const Core& core_;
  Random random_;
  ForestSweep sweep_;
  Selection now_;  // Within the capacities if has_start_.
  bool has_start_ = false;
  Prices prices_;
  double least_total_ = 0;  // A floor for the sum of all prices.
  std::vector<int32_t> all_nodes_, ball_, ball_before_, choice_;
  std::vector<double> unary_;
  std::vector<int64_t> usage_;
  std::vector<int32_t> best_;
  int64_t best_cost_;
  double margin_ = 1e-3;
  int64_t work_ = 0;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_SOLVE_PRIMAL_H_
