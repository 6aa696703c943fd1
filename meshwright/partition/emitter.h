// Emits regions of a flat graph in their per-device form.
//
//   Emitter emitter(graph, assignment, resharder, program);
//   EmitScope scope(&program, computation);
//   emitter.Define(scope, value, sharding, parameter);   // Inputs.
//   emitter.EmitRegion(0, scope);
//   emitter.Get(scope, value, sharding);                 // Outputs.
#ifndef MESHWRIGHT_PARTITION_EMITTER_H_
#define MESHWRIGHT_PARTITION_EMITTER_H_

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "meshwright/graph/flat_graph.h"
#include "meshwright/partition/assignment.h"
#include "meshwright/program/local_builder.h"
#include "meshwright/reshard/reshard.h"

namespace meshwright {

// Which uses a reshard serves: kAnyUse for all; kLocalUse for those in the same
// iteration of a loop; for a reshard that serves one op alone, that op's id +
// 2.
inline constexpr int32_t kAnyUse = 0;
inline constexpr int32_t kLocalUse = 1;

// A computation under construction.
struct EmitScope {
  // A value in one of the shardings in which it is available.
  struct Variant {
    Sharding sharding;
    Instruction* value = nullptr;
    int32_t use = kAnyUse;  // The only use that it serves, if not kAnyUse.
  };

  EmitScope(LocalProgram* program, Computation* to) : builder(program, to) {}

  LocalBuilder builder;
  absl::flat_hash_map<ValueId, std::vector<Variant>> variants;
};

class Emitter {
 public:
  // Makes a complete value from a partial one, instead of a collective.
  using Completion = std::function<Instruction*(
      Instruction* value, Reduction reduction, LocalBuilder& builder)>;

  // All arguments must outlive this. Requires: every live op's strategy is
  // valid for its rule.
  Emitter(const FlatGraph& graph, const Assignment& assignment,
          Resharder& resharder, LocalProgram& program)
      : graph_(graph),
        assignment_(assignment),
        resharder_(resharder),
        program_(program) {}

  void set_completion(Completion completion) {
    completion_ = std::move(completion);
  }

  // The sharding in which (the first result of) a value's producer leaves it.
  Sharding ShardingOf(ValueId value) const;
  Sharding OperandOf(OpId op, int32_t index) const;
  Shape LocalShape(ValueId value, const Sharding& sharding) const;

  void Define(EmitScope& scope, ValueId value, Sharding sharding,
              Instruction* instruction);
  // Emits the live ops in order. Values of other regions that they use must
  // have been defined.
  void EmitRegion(RegionId region, EmitScope& scope);
  // `value` in sharding `wanted`: as it is available, or resharded.
  Instruction* Get(EmitScope& scope, ValueId value, const Sharding& wanted);

 private:
  const Mesh& mesh() const { return program_.mesh; }

  bool IsRepeatable(OpId op) const;
  std::vector<Instruction*> EmitWith(OpId id, const Rule& rule,
                                     const Strategy& strategy,
                                     EmitScope& scope);
  // `value` behind an optimization barrier that waits for the value that the op
  // must come after.
  Instruction* EmitTie(const FlatOp& op, Instruction* value, EmitScope& scope);
  void EmitOp(OpId id, EmitScope& scope);
  Instruction* Repeat(EmitScope& scope, ValueId value, const Sharding& wanted);
  Instruction* Reshard(EmitScope& scope, ValueId value, const Sharding& wanted,
                       int32_t use);
  // The use number of a reshard for the present op.
  int32_t UseOf(ValueId value) const;

  std::unique_ptr<EmitScope> Enter(const Computation& source,
                                   const std::vector<OpId>& ops,
                                   const EmitScope& from);
  std::vector<OpId> Live(const std::vector<OpId>& ops) const;
  Instruction* TupleOfOperands(const std::vector<OpId>& ops, int32_t index,
                               EmitScope& scope);
  void DefineElements(const std::vector<OpId>& ops, Instruction* tuple,
                      EmitScope& scope);
  void EmitLoop(const Loop& loop, EmitScope& scope);
  void EmitBranch(const Branch& branch, EmitScope& scope);

  const FlatGraph& graph_;
  const Assignment& assignment_;
  Resharder& resharder_;
  LocalProgram& program_;
  Completion completion_;
  OpId user_;  // The op whose operands are being fetched.
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PARTITION_EMITTER_H_
