#include "meshwright/planner/pinned_groups.h"

namespace meshwright {

std::map<int32_t, Pin> PinnedGroups(const StepModel& model,
                                    const Annotations& pins) {
  std::map<int32_t, Pin> pinned;
  const auto ask = [&](OpId op, const std::string& name,
                       const Annotation& annotation) {
    const int32_t group = model.alike.group_of[op];
    if (group >= 0) pinned[group] = {name, &annotation};
  };
  for (size_t i = 0; i < pins.parameters.size(); ++i) {
    if (!pins.parameters[i].has_value()) continue;
    ask(model.graph.parameters[i], ParameterName(model, i),
        *pins.parameters[i]);
  }
  for (size_t i = 0; i < pins.outputs.size(); ++i) {
    if (!pins.outputs[i].has_value()) continue;
    ask(model.graph.outputs[i], model.roles.outputs[i].name, *pins.outputs[i]);
  }
  if (pins.instructions.empty()) return pinned;
  for (size_t i = 0; i < model.graph.ops.size(); ++i) {
    const FlatOp& op = model.graph.ops[i];
    if (!op.live || op.kind != OpKind::kCompute) continue;
    const auto pin = pins.instructions.find(op.instruction);
    if (pin == pins.instructions.end()) continue;
    ask(static_cast<OpId>(i), op.instruction->name, pin->second);
  }
  return pinned;
}

std::string ParameterName(const StepModel& model, size_t leaf) {
  if (leaf >= model.roles.parameters.size()) return "";
  return model.roles.parameters[leaf].name;
}

bool Satisfies(const Sharding& sharding, const Annotation& asked) {
  for (size_t i = 0; i < sharding.dims.size(); ++i) {
    if (!asked.free.empty() && asked.free[i]) continue;
    if (sharding.dims[i] != asked.sharding.dims[i]) return false;
  }
  return !sharding.IsPending();
}

}  // namespace meshwright
