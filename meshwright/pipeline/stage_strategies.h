// Applies the strategies that were chosen for a whole step to the programs of
// its stages.
//
//   StageStrategies strategies(graph, assignment, mesh);  // Of the step.
//   Assignment of =
//       strategies.For(Flatten(program.module), parameters, outputs);
//
// An op of a program is identified by its instruction's name, which the step's
// micro-batch loop and the programs have from the same source. Ops that are not
// found, because they were added when the step was cut, follow the shardings of
// their operands.
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

// The same sharding with nothing pending.
Sharding Completed(Sharding sharding);

class StageStrategies {
 public:
  // `graph` is that of the step as a loop over its micro-batches. All arguments
  // must outlive this.
  StageStrategies(const FlatGraph& graph, const Assignment& assignment,
                  const Mesh& mesh);

  // The sharding of leaf array `leaf` of the step's parameters: between steps;
  // while micro-batches run; and, for data, of the part that a micro-batch
  // gets.
  Sharding AtRest(int64_t leaf) const;
  Sharding AtWork(int64_t leaf) const;
  Sharding PartOf(int64_t leaf) const;

  // A program's output: the given sharding, or else the one in which it is
  // computed; complete unless it may be pending.
  struct Output {
    std::optional<Sharding> sharding;
    bool may_pend = false;
  };
  // An assignment for the ops of a program whose parameters have the given
  // shardings, pending or not.
  Assignment For(const FlatGraph& program,
                 const std::vector<Sharding>& parameters,
                 const std::vector<Output>& outputs) const;

  // Whether the op corresponds to one of the step.
  bool Knows(const FlatOp& op, const Rule& rule) const {
    return Find(op, rule) >= 0;
  }

  // The sharding that the step's instruction of this name and shape gives its
  // result, possibly pending; nullopt if there is none.
  std::optional<Sharding> Result(const Instruction& instruction) const {
    return Result(instruction.name, instruction.shape);
  }
  std::optional<Sharding> Result(const std::string& name,
                                 const Shape& shape) const;

 private:
  // Kind, name, leaf.
  using Key = std::tuple<OpKind, std::string, int32_t>;

  OpId Find(const FlatOp& op, const Rule& rule) const;  // -1: none.
  Sharding ResultOf(OpId op, int32_t result) const;
  Strategy Following(
      const Rule& rule,
      const std::vector<std::optional<Sharding>>& operands) const;

  const FlatGraph& graph_;
  const Assignment& assignment_;
  const Mesh& mesh_;
  absl::flat_hash_map<Key, OpId> ops_;
  // By leaf of the parameters: the op that slices out a micro-batch's part, and
  // the carry op of the loop over micro-batches; or -1.
  std::vector<OpId> parts_;
  std::vector<OpId> carries_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PIPELINE_STAGE_STRATEGIES_H_
