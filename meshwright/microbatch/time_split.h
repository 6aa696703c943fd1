// Micro-batching as partitioning: micro-batches are a mesh axis whose devices
// are points in time, and every value of a step has a sharding over it.
//
//   invariant   the same in every micro-batch: weights, and what depends on
//               them alone
//   split       each micro-batch has its part: activations
//   pending     the value is the sum (maximum, ...) of what each micro-batch
//               contributes: weight gradients
//
// Unlike on devices, nothing can be sent back in time. An op that needs the
// whole of a split or pending value uses it *completed*: stacked or accumulated
// over all micro-batches. Its result is invariant again.
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
  // By op and operand: it uses the completed value.
  std::vector<std::vector<bool>> completed;
  std::vector<Sharding> states;  // By value: its sharding over time.
  // By op, if there are shard_map regions: whether it is part of one, where
  // partial sums cannot be completed.
  std::vector<bool> in_region;

  bool IsInvariant(ValueId value) const { return IsReplicated(states[value]); }
  // Whether operand `index` of the op must be completed before it can run.
  bool Completes(const FlatGraph& graph, OpId op, size_t index) const {
    return completed[op][index] && !IsInvariant(graph.ops[op].operands[index]);
  }
};

// What to do with values as they enter shard_map regions (open_island.h).
struct RegionNeeds {
  std::vector<bool> completed;  // By op: takes what is pending completed.
  // By op: a dimension in which what is the same in every micro-batch is taken
  // in parts.
  std::vector<std::optional<int64_t>> split;
  // By op: what enters or leaves has its rows in an order of its own, by
  // device.
  std::vector<bool> apart;
};

// Splits the given parameters, by leaf, along dimensions that `count` divides,
// and propagates through the step. Every output is completed. `estimates`:
// pending values may later be estimated from one micro-batch, so that each must
// have an equal share.
TimeSplit SplitOverTime(const FlatGraph& graph, int64_t count,
                        const std::vector<std::optional<int64_t>>& dimensions,
                        bool estimates, const RegionNeeds* regions = nullptr);

// By op: whether it has an operand inside a loop or branch, where nothing can
// be completed.
std::vector<bool> NestedOps(const FlatGraph& graph);

// Moves the point at which sums over time are completed to where the fewest
// bytes are accumulated: ops that could work on partial values work on complete
// ones instead, unless that accumulates more.
void PlaceAccumulators(const FlatGraph& graph, TimeSplit& split);

// Strategies for the ops of `part`, a restriction of the graph that was split.
// Invariant values of which every user needs only its micro-batch's part
// (masks, positions, random bits) are computed in parts.
Assignment SplitAsNeeded(const FlatGraph& part, const TimeSplit& split);

// The type in which values of `type` are accumulated.
ElementType AccumulatorType(ElementType type, const Sharding& state);

}  // namespace meshwright

#endif  // MESHWRIGHT_MICROBATCH_TIME_SPLIT_H_
