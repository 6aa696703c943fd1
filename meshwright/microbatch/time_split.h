// Micro-batches as a mesh axis whose devices are points in time: how every
// value of a step lies over that axis.
//
//   invariant   the same in every micro-batch: weights, and what is made of
//               them alone
//   split       each micro-batch has its part: activations
//   pending     the value is the sum (maximum, ...) of what each micro-batch
//               gives: weight gradients
//
// Nothing can be sent back in time. An op that needs the whole of a split or
// pending value takes it *completed*: stacked or accumulated over all
// micro-batches. Its result is invariant again.
#ifndef MESHWRIGHT_MICROBATCH_TIME_SPLIT_H_
#define MESHWRIGHT_MICROBATCH_TIME_SPLIT_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "meshwright/graph/flat_graph.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/mesh/sharding.h"
#include "meshwright/partition/assignment.h"

namespace meshwright {

struct TimeSplit {
  Mesh mesh;              // One axis, "time".
  Assignment assignment;  // Over that mesh.
  // By op and operand: takes it completed.
  std::vector<std::vector<bool>> completed;
  std::vector<Sharding> states;  // By value.

  bool IsInvariant(ValueId value) const { return IsReplicated(states[value]); }
  // Whether op's operand `index` must be complete before it can run.
  bool Completes(const FlatGraph& graph, OpId op, size_t index) const {
    return completed[op][index] && !IsInvariant(graph.ops[op].operands[index]);
  }
};

// Splits the parameters given, by leaf, along a dimension that `count`
// divides, and follows them through the step. Every output is completed.
// `estimates`: what is pending may be estimated later from one micro-batch, so
// that each must have its fair share.
TimeSplit SplitOverTime(const FlatGraph& graph, int64_t count,
                        const std::vector<std::optional<int64_t>>& dimensions,
                        bool estimates);

// Whether an op's operand lives inside a loop or branch, where nothing can be
// completed.
std::vector<bool> NestedOps(const FlatGraph& graph);

// Moves the line where sums over time are completed to where they take the
// fewest bytes: ops that could work on partial values work on complete ones
// instead, unless more would have to be accumulated.
void PlaceAccumulators(const FlatGraph& graph, TimeSplit& split);

// Strategies for the ops of `part`, a restriction of the graph that was split.
// Invariant values of which every user takes its micro-batch's part only
// (masks, positions, random bits) are computed in parts.
Assignment SplitOnDemand(const FlatGraph& part, const TimeSplit& split);

// The type in which values of `type` are accumulated.
ElementType AccumulatorType(ElementType type, const Sharding& state);

}  // namespace meshwright

#endif  // MESHWRIGHT_MICROBATCH_TIME_SPLIT_H_
