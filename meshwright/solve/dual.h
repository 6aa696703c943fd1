// Raises the lower bound: Lagrange multipliers (prices) of the points move in
// the direction of what a mixture of good assignments overuses, while messages
// are kept.
//
// The mixture weighs each option by its slack (messages.h): a single assignment
// alternates between extremes and makes the prices oscillate, a mixture does
// not. It is wide at first and becomes sharper whenever the bound stalls.
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

// Where to start: any prices and messages.
struct DualStart {
  Prices prices;
  Messages messages;
  double step = 0.3;  // The step size, as a part of the distance.
  // The part of the gap over which an option loses its weight.
  double softness = 0.003;
};

DualStart FreshStart(const Core& core);
// What the dual of `before`, an earlier core of the same graph, knew about the
// points and links that `core` still has.
DualStart CarryOver(const Graph& graph, const Core& before,
                    const DualStart& start, const Core& core);

class Dual {
 public:
  // All bounds and costs here exclude `core.constant`, except that of Certify.
  Dual(const Core& core, DualStart start, uint64_t seed);

  // One step of the prices towards cost `upper`. Returns the work done.
  int64_t Step(double upper);
  // Message passes without changing prices. Returns the work done.
  int64_t Settle(int iterations);

  const Prices& prices() const { return prices_; }
  // Of the best bound.
  const DualStart& best() const { return best_; }
  double best_bound() const { return best_bound_; }
  // Whether steps have become small without much gain.
  bool stalled() const { return step_ < 0.1 || steps_since_gain_ > 30; }
  // A good assignment under `scale` times the best prices; it may exceed
  // limits. Adds the work done to *work.
  std::vector<int32_t> Candidate(double scale, int64_t* work);

  // The best bound, `core.constant` included, verified in integers.
  int64_t Certify() const;

  // By option of all nodes: by how much an assignment with this option exceeds
  // best_bound() at least, with a margin for rounding.
  std::vector<double> OptionSlack() const;

 private:
  void Pass();
  void Tune(double gap);
  void Move(double upper);

  const Core& core_;
  Random random_;
  Prices prices_;
  std::vector<double> unary_, slack_;
  Messages messages_;
  DualStart best_;
  Passes passes_;
  ForestSweep sweep_;
  std::vector<int32_t> all_nodes_;
  std::vector<double> usage_, direction_;
  double bound_ = 0;
  double best_bound_ = 0;
  double step_;
  double softness_;
  int steps_ = 0;
  int steps_since_gain_ = 0;
  double gap_before_ = 0;  // A few steps ago.
};

}  // namespace meshwright

#endif  // MESHWRIGHT_SOLVE_DUAL_H_
