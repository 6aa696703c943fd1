// Looks for better assignments of a core.
//
// Three moves: *repair* brings an assignment within the capacities by raising
// the prices of broken points between sweeps; *polish* (selection.h) tries
// single nodes; a *neighbourhood* re-chooses a ball of nodes under scaled
// prices while all others stand still.
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
  // Only assignments cheaper than `upper` count. Costs here are without
  // `core.constant`.
  Primal(const Core& core, int64_t upper, uint64_t seed);

  // `upper`, or what the best assignment found costs.
  int64_t best_cost() const { return best_cost_; }
  // Empty as long as none was found.
  const std::vector<int32_t>& best() const { return best_; }
  // An assignment within the capacities is known, cheap or not.
  bool has_start() const { return has_start_; }

  // Good prices, from the dual.
  void SetPrices(const Prices& prices) { prices_ = prices; }
  // An assignment worth a repair; it may break limits. Returns the work.
  int64_t Offer(absl::Span<const int32_t> choice,
                absl::FunctionRef<bool()> stop);
  // Somebody else found this one, which is allowed.
  void Adopt(absl::Span<const int32_t> choice);
  // Tries until it has a start, at most `attempts` times.
  int64_t FindFirst(int attempts, absl::FunctionRef<bool()> stop);
  // Neighbourhoods until `work` is spent or `stop`. Returns the work.
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
  Selection now_;  // Within the capacities when has_start_.
  bool has_start_ = false;
  Prices prices_;
  double least_total_ = 0;  // All prices together count as this at least.
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
