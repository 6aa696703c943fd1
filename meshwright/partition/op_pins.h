// The given shardings of operands and results of the ops of a flat graph.
//
//   OpPins pins(graph, annotations, pool);
//   pins.Allows(op, candidate);   // Whether it satisfies what is given.
//   pins.Add(value, sharding);    // From now on this is given, too.
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
  ShardingId sharding;
  std::vector<bool> free;  // By dimension: left open; empty if none is.
  const Instruction* instruction = nullptr;  // That the user pinned.
};

class OpPins {
 public:
  // Parameters without a sharding are pinned to be replicated. All arguments
  // must outlive this.
  OpPins(const FlatGraph& graph, const Annotations& given, ShardingPool& pool);

  const std::vector<OpPin>& Of(OpId op) const { return pins_[op]; }

  void Add(ValueId value, ShardingId sharding);

  // Whether `candidate` satisfies the pins of `op`, and gives no output a
  // strided sharding that was not asked for.
  bool Allows(OpId op, const Candidate& candidate) const;

  // The first pin that `candidate` violates; null if there is none.
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
