#include "meshwright/partition/op_pins.h"

#include <algorithm>
#include <optional>

namespace meshwright {

OpPins::OpPins(const FlatGraph& graph, const Annotations& given,
               ShardingPool& pool)
    : graph_(graph), pool_(pool), pins_(graph.ops.size()) {
  for (OpId id = 0; id < static_cast<OpId>(graph.ops.size()); ++id) {
    const FlatOp& op = graph.ops[id];
    if (!op.live || op.kind != OpKind::kCompute) continue;
    const auto found = given.instructions.find(op.instruction);
    if (found != given.instructions.end()) AddFor(id, found->second);
  }
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    if (i < given.outputs.size() && given.outputs[i].has_value()) {
      AddFor(graph.outputs[i], *given.outputs[i]);
    }
  }
  for (size_t i = 0; i < graph.parameters.size(); ++i) {
    const OpId op = graph.parameters[i];
    const std::vector<int64_t>& dimensions =
        graph.values[graph.ops[op].first_result].shape->dimensions;
    const bool is_given =
        i < given.parameters.size() && given.parameters[i].has_value();
    // A parameter comes as it is: what is left open is not split.
    AddFor(op, is_given ? given.parameters[i]->sharding
                        : Sharding::Replicated(dimensions));
  }
}

void OpPins::AddFor(OpId op, const Annotation& annotation) {
  const bool any_free =
      std::find(annotation.free.begin(), annotation.free.end(), true) !=
      annotation.free.end();
  // Of an output the operand, otherwise the first result.
  const size_t tensor = graph_.ops[op].kind == OpKind::kOutput
                            ? 0
                            : graph_.ops[op].operands.size();
  pins_[op].push_back({static_cast<int32_t>(tensor),
                       pool_.Intern(annotation.sharding),
                       any_free ? annotation.free : std::vector<bool>()});
}

void OpPins::Add(ValueId value, ShardingId sharding) {
  const FlatValue& of = graph_.values[value];
  const size_t operands = graph_.ops[of.producer].operands.size();
  pins_[of.producer].push_back(
      {static_cast<int32_t>(operands) + of.result, sharding, {}});
}

bool OpPins::Meets(const OpPin& pin, ShardingId sharding) const {
  if (pin.free.empty()) return sharding == pin.sharding;
  const Sharding& given = pool_[pin.sharding];
  const Sharding& got = pool_[sharding];
  for (size_t i = 0; i < got.dims.size(); ++i) {
    if (!pin.free[i] && got.dims[i] != given.dims[i]) return false;
  }
  return !got.IsPending();
}

bool OpPins::Allows(OpId op, const Candidate& candidate) const {
  const int32_t operands = static_cast<int32_t>(candidate.operands.size());
  for (const OpPin& pin : pins_[op]) {
    if (!Meets(pin, pin.tensor < operands
                        ? candidate.operands[pin.tensor]
                        : candidate.results[pin.tensor - operands])) {
      return false;
    }
  }
  if (graph_.ops[op].kind != OpKind::kOutput || !pins_[op].empty()) return true;
  const Sharding& sharding = pool_[candidate.operands[0]];
  return std::none_of(sharding.dims.begin(), sharding.dims.end(), IsStrided);
}

}  // namespace meshwright
