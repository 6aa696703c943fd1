// Strategies that were chosen for a whole step, for the programs of its stages.
//
//   StageStrategies strategies(graph, assignment, mesh);  // Of the step.
//   Assignment of =
//       strategies.For(Flatten(program.module), parameters, outputs);
//
// An op of a program is known by its instruction's name, which the step's loop
// over micro-batches and the programs have from the same source. What is not
// found, because it was made when the step was cut, lies as its operands do.
#ifndef MESHWRIGHT_PIPELINE_STAGE_STRATEGIES_H_
#define MESHWRIGHT_PIPELINE_STAGE_STRATEGIES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "meshwright/graph/flat_graph.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/mesh/sharding.h"
#include "meshwright/partition/assignment.h"

namespace meshwright {

// The same, with nothing pending.
Sharding Completed(Sharding sharding);

class StageStrategies {
 public:
  // `graph` is that of the step as a loop over its micro-batches. All outlive
  // this.
  StageStrategies(const FlatGraph& graph, const Assignment& assignment,
                  const Mesh& mesh);

  // How leaf array `leaf` of the step's parameters lies between steps; while
  // micro-batches run; and, of data, the part of it that a micro-batch gets.
  Sharding AtRest(int64_t leaf) const;
  Sharding AtWork(int64_t leaf) const;
  Sharding PartOf(int64_t leaf) const;

  // What leaves a program: as given or, where that is open, as it is made, but
  // complete unless it may be pending.
  struct Output {
    std::optional<Sharding> sharding;
    bool may_pend = false;
  };
  // For the ops of a program. Its parameters come as given, pending or not.
  Assignment For(const FlatGraph& program,
                 const std::vector<Sharding>& parameters,
                 const std::vector<Output>& outputs) const;

  // Whether the op is one of the step's.
  bool Knows(const FlatOp& op, const Rule& rule) const {
    return Find(op, rule) >= 0;
  }

  // What the step's instruction of this name and shape gives, which may be
  // pending; nothing if there is none.
  std::optional<Sharding> Result(const Instruction& instruction) const;

 private:
  // Kind, name, leaf.
  using Key = std::tuple<OpKind, std::string, int32_t>;

  OpId Find(const FlatOp& op, const Rule& rule) const;  // Or -1.
  Sharding ResultOf(OpId op, int32_t result) const;
  Strategy Following(
      const Rule& rule,
      const std::vector<std::optional<Sharding>>& operands) const;

  const FlatGraph& graph_;
  const Assignment& assignment_;
  const Mesh& mesh_;
  absl::flat_hash_map<Key, OpId> ops_;
  // By leaf of the parameters: the op that takes a micro-batch's part, and
  // that of the loop over them; or -1.
  std::vector<OpId> parts_;
  std::vector<OpId> carries_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PIPELINE_STAGE_STRATEGIES_H_
