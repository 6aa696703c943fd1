#include "meshwright/planner/pinned_groups.h"

#include <algorithm>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "meshwright/mesh/sharding_text.h"
#include "meshwright/partition/instruction_pins.h"

namespace meshwright {
namespace {

// Some sharding satisfies both.
bool Agree(const Annotation& a, const Annotation& b) {
  const auto is_free = [](const Annotation& one, size_t dim) {
    return !one.free.empty() && one.free[dim];
  };
  for (size_t i = 0; i < a.sharding.dims.size(); ++i) {
    if (is_free(a, i) || is_free(b, i)) continue;
    if (a.sharding.dims[i] != b.sharding.dims[i]) return false;
  }
  return true;
}

// Calls `take` with every pin of a live group, and its group.
void ForEachPin(const StepModel& model, const Annotations& pins,
                absl::FunctionRef<void(int32_t, const Pin&)> take) {
  const auto ask = [&](OpId op, const std::string& name,
                       const Annotation& annotation) {
    const int32_t group = model.alike.group_of[op];
    if (group >= 0) take(group, {name, &annotation});
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
  for (const InstructionPin& pin : InstructionPins(model.graph, pins)) {
    const FlatValue& value = model.graph.values[pin.value];
    if (value.result > 0) continue;  // Refused by CheckPins.
    ask(value.producer, pin.instruction->name, *pin.asked);
  }
}

// Ops that get one strategy are not pinned in two ways.
absl::Status CheckAlike(const StepModel& model, const Annotations& pins,
                        const Mesh& mesh) {
  std::map<int32_t, Pin> first;
  absl::Status status = absl::OkStatus();
  ForEachPin(model, pins, [&](int32_t group, const Pin& pin) {
    const Pin& other = first.try_emplace(group, pin).first->second;
    if (!status.ok() || Agree(*other.asked, *pin.asked)) return;
    status = absl::InvalidArgumentError(absl::StrCat(
        other.name, " is pinned to ", ToString(other.asked->sharding, mesh),
        ", ", pin.name, " to ", ToString(pin.asked->sharding, mesh),
        "; they are alike and have to lie in one way"));
  });
  return status;
}

}  // namespace

std::map<int32_t, Pin> PinnedGroups(const StepModel& model,
                                    const Annotations& pins) {
  std::map<int32_t, Pin> pinned;
  ForEachPin(model, pins,
             [&](int32_t group, const Pin& pin) { pinned[group] = pin; });
  return pinned;
}
absl::Status CheckPins(const StepModel& model, const Annotations& pins,
                       const Mesh& mesh) {
  for (const StatePair& pair : model.roles.state_pairs) {
    const auto at = [](const std::vector<std::optional<Annotation>>& list,
                       int64_t index) -> const Annotation* {
      const bool is_there = index < std::ssize(list) && list[index].has_value();
      return is_there ? &*list[index] : nullptr;
    };
    const Annotation* in = at(pins.parameters, pair.parameter);
    const Annotation* out = at(pins.outputs, pair.output);
    if (in == nullptr || out == nullptr || Agree(*in, *out)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        ParameterName(model, pair.parameter), " is pinned to ",
        ToString(in->sharding, mesh), ", its next value to ",
        ToString(out->sharding, mesh), "; state has to lie in one way"));
  }
  for (const InstructionPin& pin : InstructionPins(model.graph, pins)) {
    const FlatValue& value = model.graph.values[pin.value];
    if (value.result == 0) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(pin.instruction->name, " is pinned; of what ",
                     model.graph.ops[value.producer].instruction->name,
                     " gives, a plan can pin the first result only"));
  }
  return CheckAlike(model, pins, mesh);
}

std::string ParameterName(const StepModel& model, size_t leaf) {
  if (leaf >= model.roles.parameters.size()) return "";
  return model.roles.parameters[model.parameter_of_leaf[leaf]].name;
}

bool Satisfies(const Sharding& sharding, const Annotation& asked) {
  for (size_t i = 0; i < sharding.dims.size(); ++i) {
    if (!asked.free.empty() && asked.free[i]) continue;
    if (sharding.dims[i] != asked.sharding.dims[i]) return false;
  }
  return !sharding.IsPending();
}

}  // namespace meshwright
