// The problem of assigning a forward pass to pipeline stages, stated without
// modules or meshes.
//
//   nodes     what runs as a whole; in topological order
//   values    what nodes compute or need; a weight has no producer
//
// An assignment gives every node a stage, no later than those of its consumers,
// and leaves no stage empty. It is judged by
//
//   cut bytes  each value is sent directly from its producer's stage to every
//              other stage that consumes it, once: bytes * number of these.
//              A value without a producer is on the stage that first consumes
//              it.
//   balance    the largest ratio of a stage's work to its share
//
//   h computed on stage 0, used on stages 0, 2, 2 and 3: 2 * bytes
//
// `bytes` counts everything that crosses on account of a value, including the
// cotangent that comes back the same way (step_stages.h).
#ifndef MESHWRIGHT_PIPELINE_SEARCH_STAGE_GRAPH_H_
#define MESHWRIGHT_PIPELINE_SEARCH_STAGE_GRAPH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "meshwright/pipeline/stage_id.h"

namespace meshwright {

inline constexpr StageId kAnyStage = kNoStage;
inline constexpr int32_t kNoProducer = -1;
// Sums of work in different orders differ by at most this, relatively.
inline constexpr double kWorkRounding = 1e-9;

struct StageGraph {
  struct Node {
    double work = 0;
    int64_t held = 0;           // Bytes that its stage has to hold.
    StageId fixed = kAnyStage;  // The stage that it must be on.
    std::string name;           // For messages.

    bool operator==(const Node&) const = default;
  };
  struct Value {
    int64_t bytes = 0;
    int32_t producer = kNoProducer;
    std::vector<int32_t> consumers;  // Each once, in order, after the producer.

    bool operator==(const Value&) const = default;
  };

  std::vector<Node> nodes;
  std::vector<Value> values;
  // Sets of nodes that must be on the same stage, whichever it is.
  std::vector<std::vector<int32_t>> groups;

  int32_t size() const { return static_cast<int32_t>(nodes.size()); }
  double TotalWork() const;
};

struct StageLimits {
  // By stage: its speed relative to the others, positive.
  std::vector<double> capacity;
  // A stage's work is at most 1 + tolerance times its share; if that is
  // impossible, at most 1 + tolerance times its work in the best balance.
  double tolerance = 0.05;
  // And at least this part of its share. If more than 0, no stage is idle.
  double least = 0;
  // By stage: the most bytes that it can hold. Empty: unlimited.
  std::vector<int64_t> memory;

  static StageLimits Even(int32_t stages, double tolerance);

  int32_t stages() const { return static_cast<int32_t>(capacity.size()); }
  // By stage: its share of `total`, proportional to its capacity.
  std::vector<double> SharesOf(double total) const;
  // By stage: the least work that it must have of `total`, rounded down for
  // sums in any order.
  std::vector<double> LeastOf(double total) const;
  // The shares, times `balance`.
  std::vector<double> BoundsOf(double total, double balance) const;
};

struct CutCost {
  int64_t cut_bytes = 0;
  double balance = 0;  // 1: perfect. 0: there is no work.

  bool operator==(const CutCost&) const = default;
};

// `stages` is by node.
CutCost CostOf(const StageGraph& graph, const StageLimits& limits,
               const std::vector<StageId>& stages);

// kInternal, naming the node, unless `stages` is an assignment as described
// above that respects fixed nodes, groups and memory.
absl::Status CheckStages(const StageGraph& graph, const StageLimits& limits,
                         const std::vector<StageId>& stages);

}  // namespace meshwright

#endif  // MESHWRIGHT_PIPELINE_SEARCH_STAGE_GRAPH_H_
