#include "meshwright/partition/tensor_pins.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "meshwright/annotations/recorded_names.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/mesh/sharding_text.h"
#include "meshwright/partition/instruction_pins.h"

namespace meshwright {
namespace {

bool IsFree(const Annotation& annotation, size_t dim) {
  return !annotation.free.empty() && annotation.free[dim];
}

absl::Status CheckPin(absl::string_view what, const Sharding& sharding,
                      const Shape& shape, const Mesh& mesh) {
  if (sharding.IsPending()) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": a given sharding cannot be pending"));
  }
  MW_RETURN_IF_ERROR(Annotate(CheckSharding(sharding, shape.dimensions, mesh,
                                            /*allow_uneven=*/true),
                              what));
  for (size_t i = 0; i < sharding.dims.size(); ++i) {
    const DimSharding& dim = sharding.dims[i];
    const int64_t shards = mesh.Size(AxesOf(dim));
    if (IsEven(dim, mesh) ||
        LocalSize(dim, mesh) * (shards - 1) < GlobalSize(dim)) {
      continue;
    }
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": dimension ", i, " of size ", GlobalSize(dim),
                     " does not divide over ", AxesToString(AxesOf(dim), mesh),
                     ": of ", shards, " devices some would hold nothing"));
  }
  return absl::OkStatus();
}

// The name of a parameter or output in messages.
std::string NameOf(const FlatOp& op, const std::vector<std::string>& outputs) {
  if (op.kind != OpKind::kOutput) {
    return absl::StrCat("parameter ", RecordedName(*op.instruction));
  }
  const auto leaf = static_cast<size_t>(op.leaf);
  return leaf < outputs.size() ? absl::StrCat("output ", outputs[leaf])
                               : absl::StrCat("output ", leaf);
}

}  // namespace

absl::Status CheckPins(const Module& module, const FlatGraph& graph,
                       const Mesh& mesh, const Annotations& given) {
  const std::vector<std::string> outputs = RecordedOutputs(module);
  const auto check =
      [&](const std::vector<OpId>& ops,
          const std::vector<std::optional<Annotation>>& list) -> absl::Status {
    if (list.size() > ops.size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          list.size(), " shardings are given for ", ops.size(), " tensors"));
    }
    for (size_t i = 0; i < list.size(); ++i) {
      if (!list[i].has_value()) continue;
      const FlatOp& op = graph.ops[ops[i]];
      const ValueId value =
          op.result_count > 0 ? op.first_result : op.operands[0];
      MW_RETURN_IF_ERROR(CheckPin(NameOf(op, outputs), list[i]->sharding,
                                  *graph.values[value].shape, mesh));
    }
    return absl::OkStatus();
  };
  MW_RETURN_IF_ERROR(check(graph.parameters, given.parameters));
  MW_RETURN_IF_ERROR(check(graph.outputs, given.outputs));
  for (const auto& [instruction, annotation] : given.instructions) {
    MW_RETURN_IF_ERROR(CheckPin(instruction->name, annotation.sharding,
                                *Leaves(instruction->shape)[0], mesh));
  }
  return absl::OkStatus();
}

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
  return !sharding.IsPending();
}

bool Agree(const Annotation& a, const Annotation& b) {
  for (size_t i = 0; i < a.sharding.dims.size(); ++i) {
    if (IsFree(a, i) || IsFree(b, i)) continue;
    if (a.sharding.dims[i] != b.sharding.dims[i]) return false;
  }
  return true;
}

}  // namespace meshwright
