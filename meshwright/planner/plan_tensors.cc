#include "meshwright/planner/plan_tensors.h"

#include <string>
#include <vector>

#include "meshwright/search/step_model.h"

namespace meshwright {
namespace {

// All on layout 0.
PlannedTensors Named(const StepView& step,
                     absl::Span<const Sharding> parameters,
                     absl::Span<const Sharding> outputs) {
  const auto tensor = [&](const std::string& name, ValueId value,
                          const Sharding& sharding) -> PlannedTensor {
    const Shape& shape = *step.graph.values[value].shape;
    return {.name = name,
            .dimensions = shape.dimensions,
            .type = shape.element_type,
            .sharding = sharding};
  };
  const std::vector<int32_t> numbers = ParametersOfLeaves(step.module);
  PlannedTensors tensors;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const FlatOp& op = step.graph.ops[step.graph.parameters[i]];
    tensors.parameters.push_back(tensor(step.roles.parameters[numbers[i]].name,
                                        op.first_result, parameters[i]));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const FlatOp& op = step.graph.ops[step.graph.outputs[i]];
    tensors.outputs.push_back(
        tensor(step.roles.outputs[i].name, op.operands[0], outputs[i]));
  }
  return tensors;
}

}  // namespace

PlannedTensors TensorsOf(const StepView& step, const Partitioned& split) {
  return Named(step, split.parameters, split.outputs);
}

PlannedTensors TensorsOf(const StepView& step, const StagedStep& staged,
                         const StagedLayout& layout,
                         absl::Span<const StageStrategies> strategies,
                         absl::Span<const int32_t> layout_of_stage) {
  std::vector<Sharding> parameters;
  std::vector<int32_t> parameter_layouts;
  for (int64_t i = 0; i < std::ssize(step.graph.parameters); ++i) {
    const int32_t home = staged.homes[i];
    parameter_layouts.push_back(home < 0 ? 0 : layout_of_stage[home]);
    parameters.push_back(strategies[parameter_layouts[i]].AtRest(i));
  }
  std::vector<Sharding> outputs;
  std::vector<int32_t> output_layouts;
  for (const StageInput& output : staged.outputs) {
    if (output.kind == StageInput::Kind::kParameter) {
      outputs.push_back(parameters[output.index]);
      output_layouts.push_back(parameter_layouts[output.index]);
      continue;
    }
    const StageId stage =
        staged.programs[staged.values[output.index].program].stage;
    outputs.push_back(layout.values.at({output.index, stage}));
    output_layouts.push_back(layout_of_stage[stage]);
  }
  PlannedTensors tensors = Named(step, parameters, outputs);
  for (size_t i = 0; i < parameters.size(); ++i) {
    tensors.parameters[i].layout = parameter_layouts[i];
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    tensors.outputs[i].layout = output_layouts[i];
  }
  return tensors;
}

}  // namespace meshwright
