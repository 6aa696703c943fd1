#include "meshwright/planner/demand.h"

#include <vector>

namespace meshwright {

Demand PlanDemand(const StepModel& model, Expert of, const Mesh& mesh,
                  const Annotations& pins) {
  Demand expert = DemandOf(of, model, mesh);
  std::vector<const Annotation*> asked(model.alike.count(), nullptr);
  bool any = false;
  const auto ask = [&](OpId op, const Annotation& annotation) {
    const int32_t group = model.alike.group_of[op];
    if (group >= 0) asked[group] = &annotation;
    any = any || group >= 0;
  };
  for (size_t i = 0; i < pins.parameters.size(); ++i) {
    if (pins.parameters[i]) ask(model.graph.parameters[i], *pins.parameters[i]);
  }
  for (size_t i = 0; i < pins.outputs.size(); ++i) {
    if (pins.outputs[i]) ask(model.graph.outputs[i], *pins.outputs[i]);
  }
  if (!pins.instructions.empty()) {
    for (size_t i = 0; i < model.graph.ops.size(); ++i) {
      const FlatOp& op = model.graph.ops[i];
      if (!op.live || op.kind != OpKind::kCompute) continue;
      const auto pin = pins.instructions.find(op.instruction);
      if (pin != pins.instructions.end()) {
        ask(static_cast<OpId>(i), pin->second);
      }
    }
  }
  if (!any) return expert;
  return [expert, asked](int32_t group, const Sharding& sharding) {
    if (const Annotation* pin = asked[group]) {
      for (size_t i = 0; i < sharding.dims.size(); ++i) {
        if (!pin->free.empty() && pin->free[i]) continue;
        if (sharding.dims[i] != pin->sharding.dims[i]) return false;
      }
      return !sharding.IsPending();
    }
    return !expert || expert(group, sharding);
  };
}

}  // namespace meshwright
