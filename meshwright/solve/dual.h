// Raises the lower bound: prices on the points move towards what a mixture of
// good assignments overuses, while messages stay warm.
//
// The mixture weighs each option by its slack (messages.h): a single assignment
// jumps between far ends and makes the prices swing, a mixture does not. It is
// wide at first and becomes sharper whenever the bound stalls.
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

// Where to start: prices and messages, whatever they come from.
struct DualStart {
  Prices prices;
  Messages messages;
  double step = 0.3;        // Part of the way that is gone at once.
  double softness = 0.003;  // Part of the gap at which an option loses weight.
};

DualStart FreshStart(const Core& core);
// What `dual` of a core of the same graph, from before it was reduced further,
// knows about the points and links that `core` still has.
DualStart CarryOver(const Graph& graph, const Core& before,
                    const DualStart& start, const Core& core);

class Dual {
 public:
  // All bounds and costs here are without `core.constant`, except Certify's.
  Dual(const Core& core, DualStart start, uint64_t seed);

  // One move of the prices; `upper` is the cost to aim for. Returns the work.
  int64_t Step(double upper);
  // Passes without a move. Returns the work.
  int64_t Settle(int iterations);

  const Prices& prices() const { return prices_; }
  // Those of the best bound.
  const DualStart& best() const { return best_; }
  double best_bound() const { return best_bound_; }
  // Steps have become small without much gain.
  bool stalled() const { return step_ < 0.1 || steps_since_gain_ > 30; }
  // A good assignment under `scale` times the best prices; it may break limits.
  // Adds to *work.
  std::vector<int32_t> Candidate(double scale, int64_t* work);

  // The best bound, `core.constant` included, safe to report.
  int64_t Certify() const;

  // What an assignment with this option costs above best_bound() at least, by
  // option of all nodes; a little less where rounding might matter.
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
