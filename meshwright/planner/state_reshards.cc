#include "meshwright/planner/state_reshards.h"

#include <map>
#include <string>
#include <utility>

#include "meshwright/reshard/reshard.h"
#include "meshwright/search/options.h"

namespace meshwright {
namespace {

// Parameters of programs by leaf and stage.
std::map<std::pair<int64_t, int32_t>, const Instruction*> ParametersOf(
    const StagedStep& step) {
  std::map<std::pair<int64_t, int32_t>, const Instruction*> found;
  for (const StageProgram& program : step.programs) {
    const auto parameters = program.module.entry()->Parameters();
    for (size_t i = 0; i < parameters.size(); ++i) {
      const StageInput& input = program.inputs[i];
      if (input.kind != StageInput::Kind::kParameter) continue;
      found.try_emplace({input.index, program.stage}, parameters[i]);
    }
  }
  return found;
}

}  // namespace

std::vector<Collective> StateReshards(const StagedStep& step,
                                      const StagedLayout& layout,
                                      const std::vector<StageSplit>& splits) {
  const auto parameters = ParametersOf(step);
  std::vector<Collective> listed;
  for (const auto& [key, at_work] : layout.at_work) {
    const Instruction& parameter = *parameters.at(key);
    const Mesh& mesh = layout.meshes[key.second];
    Resharder resharder(&mesh, *splits[key.second].prices);
    Sharding before = layout.parameters.at(key);
    for (const ReshardStep& move :
         resharder.Path(parameter.shape.element_type, before, at_work)) {
      if (IsCollective(move.kind)) {
        const bool is_permute = move.kind == MoveKind::kPermute;
        listed.push_back(
            {.kind = std::string(Name(move.kind)),
             .axes = is_permute ? "-" : AxesToString(move.axes, mesh),
             .tensor = parameter.name,
             .devices = is_permute ? 2 : mesh.Size(move.axes),
             .bytes = static_cast<int64_t>(
                 LocalBytes(parameter.shape, before, mesh)),
             .wire_bytes = move.wire_bytes});
      }
      before = move.after;
    }
  }
  return listed;
}

}  // namespace meshwright
