// Raises the lower bound: prices on the points move along a subgradient while
// messages stay warm.
//
//   Dual dual(core, seed);
//   while (...) dual.Step(incumbent_cost);
//   dual.Certify();   // the best bound so far, checked in integers
#ifndef MESHWRIGHT_SOLVE_DUAL_H_
#define MESHWRIGHT_SOLVE_DUAL_H_

#include <cstdint>
#include <vector>

#include "meshwright/solve/core.h"
#include "meshwright/solve/forest_sweep.h"
#include "meshwright/solve/messages.h"
#include "meshwright/solve/prices.h"
#include "meshwright/solve/random.h"

namespace meshwright {

class Dual {
 public:
  // All bounds and costs here are without `core.constant`, except Certify's.
  Dual(const Core& core, uint64_t seed);

  // One move of the prices; `upper` is the cost to aim for. Returns the work.
  int64_t Step(double upper);
  // Passes without a move. Returns the work.
  int64_t Settle(int iterations);

  const Prices& prices() const { return prices_; }
  const Prices& best_prices() const { return best_prices_; }
  double best_bound() const { return best_bound_; }
  // A good assignment under the prices of the last step; it may break limits.
  const std::vector<int32_t>& candidate() const { return candidate_; }

  // The best bound, `core.constant` included, safe to report.
  int64_t Certify() const;

  // Marks options that no assignment cheaper than `upper` takes, at the best
  // prices. Returns the work.
  int64_t FindUseless(double upper, std::vector<char>& useless);

 private:
  void Pass();
  void Move(double upper);

  const Core& core_;
  Random random_;
  Prices prices_, best_prices_;
  std::vector<double> unary_;
  Messages messages_, best_messages_;
  Passes passes_;
  ForestSweep sweep_;
  std::vector<int32_t> all_nodes_, candidate_;
  std::vector<int64_t> usage_;
  std::vector<double> direction_;
  double bound_ = 0;
  double best_bound_ = 0;
  double step_ = 0.3;
  int since_gain_ = 0;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_SOLVE_DUAL_H_
