// Which program of a step split over time computes what.
//
// Phases run one after another, each once per micro-batch; a last program runs
// once. Most steps have one phase: forward and backward. One more comes first
// where a sum over the whole batch is needed inside it (the number of tokens
// that count, to divide by), if it can be had without contractions: what a
// phase needs of an earlier one's work it does again.
#ifndef MESHWRIGHT_MICROBATCH_TIME_PHASES_H_
#define MESHWRIGHT_MICROBATCH_TIME_PHASES_H_

#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/graph/flat_graph.h"
#include "meshwright/microbatch/time_split.h"

namespace meshwright {

struct TimeProgram {
  std::vector<bool> live;      // By op: is part of the program.
  std::vector<ValueId> given;  // Completed by earlier phases. Ascending.
  // By op: computed of the whole batch, to have what is given; or empty.
  std::vector<bool> whole;
  std::vector<ValueId> accumulated;  // What this phase completes. Ascending.
};

// The phases, and last the program that runs once.
// kInvalidArgument, naming the instruction, where something inside a
// micro-batch needs others. With `allow_inexact`, sums over the batch that
// take contractions are estimated there from the micro-batch alone. With
// `one_phase`, what would take earlier phases every micro-batch computes
// itself.
absl::StatusOr<std::vector<TimeProgram>> CutIntoPhases(const FlatGraph& graph,
                                                       const TimeSplit& split,
                                                       bool allow_inexact,
                                                       bool one_phase);

}  // namespace meshwright

#endif  // MESHWRIGHT_MICROBATCH_TIME_PHASES_H_
