// Divides a step that is split over time into programs.
//
// Phases run one after another, each once per micro-batch; a last program runs
// once. Most steps have one phase: forward and backward. Another comes first if
// a sum over the whole batch is needed within a micro-batch (such as the number
// of unmasked tokens, as a divisor) and can be computed without contractions; a
// later phase recomputes what it needs of the work of an earlier one.
#ifndef MESHWRIGHT_MICROBATCH_TIME_PHASES_H_
#define MESHWRIGHT_MICROBATCH_TIME_PHASES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/graph/flat_graph.h"
#include "meshwright/microbatch/time_split.h"

namespace meshwright {

struct TimeProgram {
  std::vector<bool> live;      // By op: is part of the program.
  std::vector<ValueId> given;  // Completed by earlier phases. Ascending.
  // By op: computed on the whole batch, for what is given; or empty.
  std::vector<bool> whole;
  std::vector<ValueId> accumulated;  // Completed by this phase. Ascending.
};

// "dot.3 (jit(step)/loss/dot_general)"
std::string DescribeOp(const FlatOp& op);

// The phases, then the program that runs once. kInvalidArgument, naming the
// instruction, if something within a micro-batch needs others. With
// `allow_inexact`, sums over the batch that take contractions are estimated
// there from the micro-batch alone. With `one_phase`, every micro-batch
// computes itself what would take earlier phases.
absl::StatusOr<std::vector<TimeProgram>> SplitIntoPhases(const FlatGraph& graph,
                                                         const TimeSplit& split,
                                                         bool allow_inexact,
                                                         bool one_phase);

}  // namespace meshwright

#endif  // MESHWRIGHT_MICROBATCH_TIME_PHASES_H_
