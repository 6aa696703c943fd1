#include "meshwright/planner/steering.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "meshwright/annotations/sharding_file.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/mesh/sharding_text.h"
#include "meshwright/partition/instruction_pins.h"
#include "meshwright/partition/pinned_rules.h"
#include "meshwright/partition/tensor_pins.h"
#include "meshwright/planner/plan_prices.h"
#include "meshwright/search/group_pins.h"

namespace meshwright {
namespace {

// The inverse of ToString.
absl::StatusOr<Annotation> ParseText(std::string text, const Shape& shape,
                                     const Mesh& mesh) {
  std::vector<bool> free = TakeFree(text, shape.dimensions.size());
  MW_ASSIGN_OR_RETURN(Sharding sharding,
                      ParseSharding(text, shape.dimensions, mesh));
  return Annotation(std::move(sharding), std::move(free));
}

// Null if the step has no instruction of this name.
const Instruction* FindInstruction(const FlatGraph& graph,
                                   const std::string& name) {
  for (const FlatOp& op : graph.ops) {
    if (op.kind == OpKind::kCompute && op.instruction->name == name) {
      return op.instruction;
    }
  }
  for (const OtherName& other : graph.other_names) {
    if (other.instruction->name == name) return other.instruction;
  }
  return nullptr;
}

}  // namespace

absl::Status CheckSteering(const PlanRequest& request) {
  if (!request.batch_axis.empty() &&
      !Mesh::Create({{request.batch_axis, 1}}).ok()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--batch-axis: '", request.batch_axis, "' is no name of an axis"));
  }
  if (request.mesh.has_value()) {
    return CheckAxes(request.forbidden, *request.mesh);
  }
  for (const Forbidden& forbidden : request.forbidden) {
    if (forbidden.axis.empty()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--forbid ", ToString(forbidden),
                     " names an axis; --mesh has to say which there are"));
  }
  return absl::OkStatus();
}

Prices SearchPrices(const PlanRequest& request, const Rates& rates,
                    const Cluster& cluster, const Mesh& mesh) {
  if (request.expert != Expert::kVolume) {
    return PlanPrices(rates, cluster, request.forbidden, mesh);
  }
  const Prices volume = {
      .collective = {1e-9, 1e-9}, .per_local_byte = 1e-15, .per_flop = 1e-18};
  return Without(volume, request.forbidden, mesh);
}

Steering SteeringOf(const PlanRequest& request, const Annotations& pins,
                    const StepModel& model, const Mesh& mesh) {
  Steering steering;
  steering.forbidden = request.forbidden;
  steering.batch_axis = request.batch_axis;
  const auto add = [&](PinKind kind, const std::string& name,
                       const Annotation& asked) {
    steering.pins.push_back({kind, name, ToString(asked, mesh)});
  };
  for (size_t i = 0; i < pins.parameters.size(); ++i) {
    if (!pins.parameters[i].has_value()) continue;
    add(PinKind::kParameter, ParameterName(model, i), *pins.parameters[i]);
  }
  for (size_t i = 0; i < pins.outputs.size(); ++i) {
    if (!pins.outputs[i].has_value()) continue;
    add(PinKind::kOutput, model.roles.outputs[i].name, *pins.outputs[i]);
  }
  for (const InstructionPin& pin : InstructionPins(model.graph, pins)) {
    add(PinKind::kInstruction, pin.instruction->name, *pin.asked);
  }
  return steering;
}

absl::StatusOr<Annotations> PinsOf(const Steering& steering, const Module& step,
                                   const FlatGraph& graph, const Mesh& mesh) {
  const ModuleRoles roles = AnalyzeRoles(step);
  const std::vector<int32_t> parameters = ParametersOfLeaves(step);
  Annotations pins;
  pins.parameters.resize(graph.parameters.size());
  pins.outputs.resize(graph.outputs.size());
  for (const Steering::Pin& pin : steering.pins) {
    const auto parse = [&](const Shape& shape) {
      return ParseText(pin.sharding, shape, mesh);
    };
    bool found = false;
    for (size_t i = 0; i < pins.parameters.size() && !found; ++i) {
      // Leaves of a tuple share a name; they are in order.
      if (pin.kind != PinKind::kParameter || pins.parameters[i].has_value() ||
          roles.parameters[parameters[i]].name != pin.name) {
        continue;
      }
      const FlatOp& op = graph.ops[graph.parameters[i]];
      MW_ASSIGN_OR_RETURN(pins.parameters[i],
                          parse(*graph.values[op.first_result].shape));
      found = true;
    }
    for (size_t i = 0; i < pins.outputs.size() && !found; ++i) {
      if (pin.kind != PinKind::kOutput || pins.outputs[i].has_value() ||
          roles.outputs[i].name != pin.name) {
        continue;
      }
      const FlatOp& op = graph.ops[graph.outputs[i]];
      MW_ASSIGN_OR_RETURN(pins.outputs[i],
                          parse(*graph.values[op.operands[0]].shape));
      found = true;
    }
    const Instruction* const instruction =
        pin.kind == PinKind::kInstruction ? FindInstruction(graph, pin.name)
                                          : nullptr;
    if (instruction != nullptr) {
      MW_ASSIGN_OR_RETURN(pins.instructions[instruction],
                          parse(instruction->shape));
      found = true;
    }
    if (!found) {
      return absl::InvalidArgumentError(
          absl::StrCat("the plan pins ", Name(pin.kind), " ", pin.name,
                       ", which is not there"));
    }
  }
  return pins;
}

absl::StatusOr<std::vector<Rule>> RulesOf(const Steering& steering,
                                          const Module& step,
                                          const FlatGraph& graph,
                                          const Mesh& mesh) {
  if (steering.pins.empty()) return RulesOf(graph);
  MW_ASSIGN_OR_RETURN(const Annotations pins,
                      PinsOf(steering, step, graph, mesh));
  return RulesWithPins(
      graph, PinsByOp(graph, pins, StateOps(step, AnalyzeRoles(step), graph)),
      mesh);
}

absl::Status NoWay(const PlanRequest& request) {
  std::string asked;
  if (request.expert != Expert::kAuto) {
    absl::StrAppend(&asked, " with strategy ", Name(request.expert));
  }
  if (request.stages.value_or(1) > 1) {
    absl::StrAppend(&asked, " with ", *request.stages, " stages");
  }
  if (request.annotations) absl::StrAppend(&asked, " with these pins");
  if (!request.batch_axis.empty()) {
    absl::StrAppend(&asked, " with the batch along ", request.batch_axis);
  }
  if (request.mesh.has_value()) {
    absl::StrAppend(&asked, " on the mesh ", request.mesh->ToString());
  }
  if (!request.forbidden.empty()) {
    absl::StrAppend(
        &asked, " without what is forbidden: ", ToString(request.forbidden));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("there is no plan", asked, ", whatever the memory"));
}

}  // namespace meshwright
