// What is given about the ops of a flat graph: how some of their operands and
// results must lie.
//
//   OpPins pins(graph, annotations, pool);
//   pins.Allows(op, candidate);   // Lies as given, wherever something is.
//   pins.Add(value, sharding);    // From now on it must lie so, too.
#ifndef MESHWRIGHT_PARTITION_OP_PINS_H_
#define MESHWRIGHT_PARTITION_OP_PINS_H_

#include <cstdint>
#include <vector>

#include "meshwright/annotations/annotations.h"
#include "meshwright/graph/flat_graph.h"
#include "meshwright/partition/candidates.h"
#include "meshwright/partition/pool.h"

namespace meshwright {

struct OpPin {
  int32_t tensor = 0;  // As in Seed: operands first.
  ShardingId sharding = 0;
  std::vector<bool> free;  // By dimension: left open; empty when none is.
  const Instruction* instruction = nullptr;  // That was pinned.
};

class OpPins {
 public:
  // Parameters about which nothing is said are replicated. All arguments
  // outlive this.
  OpPins(const FlatGraph& graph, const Annotations& given, ShardingPool& pool);

  const std::vector<OpPin>& Of(OpId op) const { return pins_[op]; }

  void Add(ValueId value, ShardingId sharding);

  // Whether `candidate` is one for `op`: as pinned, and no output is strided
  // that nobody asked to be.
  bool Allows(OpId op, const Candidate& candidate) const;

  // The first pin that `candidate` does not keep; null if there is none.
  const OpPin* Broken(OpId op, const Candidate& candidate) const;

 private:
  void AddFor(OpId op, int32_t tensor, const Annotation& annotation,
              const Instruction* instruction);
  bool Keeps(const OpPin& pin, ShardingId sharding) const;

  const FlatGraph& graph_;
  ShardingPool& pool_;
  std::vector<std::vector<OpPin>> pins_;  // By op.
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PARTITION_OP_PINS_H_
