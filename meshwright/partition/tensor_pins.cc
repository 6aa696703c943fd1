#include "meshwright/partition/tensor_pins.h"

#include <optional>

#include "meshwright/partition/instruction_pins.h"

namespace meshwright {
namespace {

bool IsFree(const Annotation& annotation, size_t dim) {
  return !annotation.free.empty() && annotation.free[dim];
}

}  // namespace

std::vector<std::vector<TensorPin>> PinsByOp(
    const FlatGraph& graph, const Annotations& given,
    const std::vector<std::pair<OpId, OpId>>& pairs) {
  std::vector<std::vector<TensorPin>> pins(graph.ops.size());
  for (const InstructionPin& pin : InstructionPins(graph, given)) {
    const FlatValue& value = graph.values[pin.value];
    const auto operands =
        static_cast<int32_t>(graph.ops[value.producer].operands.size());
    pins[value.producer].push_back(
        {operands + value.result, pin.asked, pin.instruction, value.producer});
  }
  const auto add = [&](OpId op, const std::optional<Annotation>& asked) {
    if (!asked.has_value()) return;
    // A parameter has no operand, an output no result.
    pins[op].push_back({0, &*asked, graph.ops[op].instruction, op});
  };
  for (size_t i = 0; i < given.parameters.size(); ++i) {
    add(graph.parameters[i], given.parameters[i]);
  }
  for (size_t i = 0; i < given.outputs.size(); ++i) {
    add(graph.outputs[i], given.outputs[i]);
  }
  for (const auto& [parameter, output] : pairs) {
    std::vector<TensorPin> both = pins[parameter];
    both.insert(both.end(), pins[output].begin(), pins[output].end());
    pins[parameter] = both;
    pins[output] = std::move(both);
  }
  return pins;
}

bool Meets(const Sharding& sharding, const Annotation& asked) {
  for (size_t i = 0; i < sharding.dims.size(); ++i) {
    if (IsFree(asked, i)) continue;
    if (sharding.dims[i] != asked.sharding.dims[i]) return false;
  }
  return sharding.pending == asked.sharding.pending &&
         (!sharding.IsPending() ||
          sharding.reduction == asked.sharding.reduction);
}

bool Agree(const Annotation& a, const Annotation& b) {
  for (size_t i = 0; i < a.sharding.dims.size(); ++i) {
    if (IsFree(a, i) || IsFree(b, i)) continue;
    if (a.sharding.dims[i] != b.sharding.dims[i]) return false;
  }
  return a.sharding.pending == b.sharding.pending;
}

}  // namespace meshwright
