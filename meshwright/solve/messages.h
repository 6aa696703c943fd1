// Lower bounds for pairwise costs by sequential tree-reweighted message passing
// (TRW-S: Kolmogorov, "Convergent Tree-reweighted Message Passing", 2006).
//
//   Messages messages(core);
//   Passes passes(core, unary);   // unary: a cost per option of all nodes
//   passes.Forward(messages);
//   double bound = passes.Backward(messages);
//
// Every message is a shift of cost between an edge and a node. The backward
// pass visits the nodes from last to first; the bound it returns holds whatever
// the messages were before: see docs/design/0004-solver.md.
#ifndef MESHWRIGHT_SOLVE_MESSAGES_H_
#define MESHWRIGHT_SOLVE_MESSAGES_H_

#include <vector>

#include "absl/types/span.h"
#include "meshwright/solve/core.h"

namespace meshwright {

// By link slot: the message from the other end about the options of this end.
using Messages = std::vector<double>;

inline Messages NoMessages(const Core& core) {
  return Messages(core.link_options, 0.0);
}

class Passes {
 public:
  // `unary` must outlive the object and may change between passes.
  Passes(const Core& core, const std::vector<double>& unary);

  // Both return the lower bound of their direction.
  double Forward(Messages& messages);
  double Backward(Messages& messages);

  // As Backward, and sets slack[option] to a lower bound on the excess of an
  // assignment with this option over the bound of the preceding pass. Requires:
  // the preceding pass was Forward with the same unary costs.
  double BackwardWithSlack(Messages& messages, std::vector<double>& slack);

  // Reads an assignment off the messages, node by node.
  void Decode(const Messages& messages, std::vector<int32_t>& choice);

 private:
  template <bool kForward>
  double Pass(Messages& messages, std::vector<double>* slack);
  void Send(int32_t v, const CoreLink& link, Messages& messages, double* total);

  const Core& core_;
  const std::vector<double>& unary_;
  std::vector<double> weight_;  // By node: 1 / the number of chains through it.
  std::vector<double> sum_, shifted_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_SOLVE_MESSAGES_H_
