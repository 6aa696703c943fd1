#include "meshwright/partition/op_pins.h"

#include <algorithm>
#include <optional>

#include "meshwright/partition/instruction_pins.h"

namespace meshwright {
namespace {

// The first result's, as in Seed.
int32_t ResultTensor(const FlatOp& op) {
  return static_cast<int32_t>(op.operands.size());
}

}  // namespace

OpPins::OpPins(const FlatGraph& graph, const Annotations& given,
               ShardingPool& pool)
    : graph_(graph), pool_(pool), pins_(graph.ops.size()) {
  for (const InstructionPin& pin : InstructionPins(graph, given)) {
    const FlatValue& value = graph.values[pin.value];
    AddFor(value.producer,
           ResultTensor(graph.ops[value.producer]) + value.result, *pin.asked,
           pin.instruction);
  }
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    if (i < given.outputs.size() && given.outputs[i].has_value()) {
      const OpId op = graph.outputs[i];
      AddFor(op, 0, *given.outputs[i], graph.ops[op].instruction);
    }
  }
  for (size_t i = 0; i < graph.parameters.size(); ++i) {
    const OpId op = graph.parameters[i];
    const std::vector<int64_t>& dimensions =
        graph.values[graph.ops[op].first_result].shape->dimensions;
    const bool is_given =
        i < given.parameters.size() && given.parameters[i].has_value();
    // A parameter comes as it is: what is left open is not split.
    AddFor(op, 0,
           is_given ? given.parameters[i]->sharding
                    : Sharding::Replicated(dimensions),
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

bool OpPins::Meets(const OpPin& pin, ShardingId sharding) const {
  if (pin.free.empty()) return sharding == pin.sharding;
  const Sharding& given = pool_[pin.sharding];
  const Sharding& got = pool_[sharding];
  for (size_t i = 0; i < got.dims.size(); ++i) {
    if (!pin.free[i] && got.dims[i] != given.dims[i]) return false;
  }
  return !got.IsPending();
}

const OpPin* OpPins::Broken(OpId op, const Candidate& candidate) const {
  const int32_t operands = static_cast<int32_t>(candidate.operands.size());
  for (const OpPin& pin : pins_[op]) {
    if (!Meets(pin, pin.tensor < operands
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
