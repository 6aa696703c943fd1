#include "meshwright/search/group_pins.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/mesh/sharding_text.h"
#include "meshwright/partition/tensor_pins.h"

namespace meshwright {
namespace {

std::string NameOf(const StepModel& model, const TensorPin& pin) {
  const FlatGraph& graph = model.graph;
  const auto parameter = std::ranges::find(graph.parameters, pin.op);
  if (parameter != graph.parameters.end()) {
    return ParameterName(model, parameter - graph.parameters.begin());
  }
  const auto output = std::ranges::find(graph.outputs, pin.op);
  if (output != graph.outputs.end()) {
    return model.roles.outputs[output - graph.outputs.begin()].name;
  }
  return pin.instruction->name;
}

absl::Status CheckAgree(const std::vector<GroupPin>& pins, const Mesh& mesh) {
  for (const GroupPin& a : pins) {
    for (const GroupPin& b : pins) {
      if (a.tensor != b.tensor || Agree(a.asked, b.asked)) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          a.name, " is pinned to ", ToString(a.asked, mesh), ", ", b.name,
          " to ", ToString(b.asked, mesh), "; ",
          a.group == b.group ? "they are one tensor"
                             : "state keeps its sharding from step to step"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<GroupPins> PinnedGroups(const StepModel& model,
                                       const Annotations& given,
                                       const Mesh& mesh) {
  GroupPins pinned;
  const auto by_op = PinsByOp(model.graph, given, model.state_ops);
  for (size_t i = 0; i < by_op.size(); ++i) {
    const GroupId group = model.groups.group_of[i];
    if (by_op[i].empty() || group < 0 || pinned.contains(group)) continue;
    std::vector<GroupPin>& pins = pinned[group];
    for (const TensorPin& pin : by_op[i]) {
      pins.push_back({pin.tensor, *pin.asked, NameOf(model, pin),
                      model.groups.group_of[pin.op]});
    }
    MW_RETURN_IF_ERROR(CheckAgree(pins, mesh));
  }
  return pinned;
}

std::string ToString(const Annotation& asked, const Mesh& mesh) {
  if (asked.free.empty()) return ToString(asked.sharding, mesh);
  std::vector<std::string> dims;
  for (size_t i = 0; i < asked.sharding.dims.size(); ++i) {
    if (asked.free[i]) {
      dims.push_back("?");
      continue;
    }
    std::string one =
        ToString(Sharding{.dims = {asked.sharding.dims[i]}}, mesh);
    dims.push_back(one.substr(1, one.size() - 2));
  }
  return absl::StrCat("[", absl::StrJoin(dims, ", "), "]");
}

}  // namespace meshwright
