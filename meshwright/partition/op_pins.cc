#include "meshwright/partition/op_pins.h"

#include <algorithm>

#include "meshwright/partition/tensor_pins.h"

namespace meshwright {
namespace {

// The first result, numbered as in Seed.
int32_t ResultTensor(const FlatOp& op) {
  return static_cast<int32_t>(op.operands.size());
}

}  // namespace

OpPins::OpPins(const FlatGraph& graph, const Annotations& given,
               ShardingPool& pool)
    : graph_(graph), pool_(pool), pins_(graph.ops.size()) {
  const std::vector<std::vector<TensorPin>> by_op = PinsByOp(graph, given);
  for (size_t i = 0; i < by_op.size(); ++i) {
    const OpId op = static_cast<OpId>(i);
    const bool is_parameter = graph.ops[i].kind == OpKind::kParameter;
    for (const TensorPin& pin : by_op[i]) {
      // For a parameter, dimensions that are left open are not split.
      AddFor(op, pin.tensor,
             is_parameter ? Annotation(pin.asked->sharding) : *pin.asked,
             pin.instruction);
    }
  }
  for (const OpId op : graph.parameters) {
    if (!pins_[op].empty()) continue;
    const Shape& shape = *graph.values[graph.ops[op].first_result].shape;
    AddFor(op, 0, Sharding::Replicated(shape.dimensions),
           graph.ops[op].instruction);
  }
}

void OpPins::AddFor(OpId op, int32_t tensor, const Annotation& annotation,
                    const Instruction* instruction) {
  const bool any_free =
      std::find(annotation.free.begin(), annotation.free.end(), true) !=
      annotation.free.end();
  pins_[op].push_back({tensor, pool_.Intern(annotation.sharding),
                       any_free ? annotation.free : std::vector<bool>(),
                       instruction});
}

void OpPins::Add(ValueId value, ShardingId sharding) {
  const FlatValue& of = graph_.values[value];
  const FlatOp& op = graph_.ops[of.producer];
  pins_[of.producer].push_back(
      {ResultTensor(op) + of.result, sharding, {}, op.instruction});
}

bool OpPins::Keeps(const OpPin& pin, ShardingId sharding) const {
  if (pin.free.empty()) return sharding == pin.sharding;
  return Meets(pool_[sharding], {pool_[pin.sharding], pin.free});
}

const OpPin* OpPins::Broken(OpId op, const Candidate& candidate) const {
  const int32_t operands = static_cast<int32_t>(candidate.operands.size());
  for (const OpPin& pin : pins_[op]) {
    if (!Keeps(pin, pin.tensor < operands
                        ? candidate.operands[pin.tensor]
                        : candidate.results[pin.tensor - operands])) {
      return &pin;
    }
  }
  return nullptr;
}

bool OpPins::Allows(OpId op, const Candidate& candidate) const {
  if (Broken(op, candidate) != nullptr) return false;
  if (graph_.ops[op].kind != OpKind::kOutput || !pins_[op].empty()) return true;
  const Sharding& sharding = pool_[candidate.operands[0]];
  return std::none_of(sharding.dims.begin(), sharding.dims.end(), IsStrided);
}

}  // namespace meshwright
