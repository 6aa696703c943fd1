#include "meshwright/plan/step_names.h"

#include <cstddef>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/graph/op_names.h"

namespace meshwright {
namespace {

using Numbers = absl::flat_hash_map<absl::string_view, int32_t>;

Numbers NumbersOf(const std::vector<std::string>& names) {
  Numbers numbers;
  numbers.reserve(names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    numbers.emplace(names[i], static_cast<int32_t>(i));
  }
  return numbers;
}

absl::StatusOr<std::vector<Strategy>> StrategiesOf(
    const PlannedLayout& layout, const FlatGraph& graph,
    const SharedRules& rules, const std::vector<std::string>& names) {
  const Numbers numbers = NumbersOf(names);
  std::vector<Strategy> strategies(graph.ops.size());
  std::vector<bool> is_given(graph.ops.size(), false);
  for (const PlannedStrategy& planned : layout.strategies) {
    const auto found = numbers.find(planned.operation);
    if (found == numbers.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the plan has a strategy for ", planned.operation,
                       ", which the step does not have; plan it again"));
    }
    const int32_t op = found->second;
    if (is_given[op]) {
      return absl::InvalidArgumentError(
          absl::StrCat("the plan has two strategies for ", planned.operation));
    }
    is_given[op] = true;
    strategies[op] = planned.strategy;
  }
  for (size_t op = 0; op < graph.ops.size(); ++op) {
    if (!graph.ops[op].live) {
      strategies[op] = ReplicatedStrategy(rules[op]);
      continue;
    }
    if (!is_given[op]) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the plan has no strategy for ", names[op], "; plan it again"));
    }
    if (strategies[op].factor_axes.size() != rules[op].factors.size() ||
        !IsValid(rules[op], strategies[op], layout.mesh)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the plan's strategy for ", names[op], " does not fit it"));
    }
  }
  return strategies;
}

absl::Status Mark(const std::vector<std::string>& values, Sharing as,
                  const Numbers& numbers, std::vector<Sharing>& sharing) {
  for (const std::string& value : values) {
    const auto found = numbers.find(value);
    if (found == numbers.end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the plan moves ", value, ", which the step does not have"));
    }
    sharing[found->second] = as;
  }
  return absl::OkStatus();
}

}  // namespace

void SetAssignment(const FlatGraph& graph, const Assignment& assignment,
                   PlannedLayout& layout) {
  const std::vector<std::string> names = OpNames(graph);
  for (size_t op = 0; op < graph.ops.size(); ++op) {
    if (!graph.ops[op].live) continue;
    layout.strategies.push_back({names[op], assignment.strategies[op]});
  }
  const std::vector<std::string> values = ValueNames(graph, names);
  for (size_t value = 0; value < assignment.sharing.size(); ++value) {
    if (assignment.sharing[value] == Sharing::kApart) {
      layout.moved_apart.push_back(values[value]);
    } else if (assignment.sharing[value] == Sharing::kInPlace) {
      layout.moved_in_place.push_back(values[value]);
    }
  }
}

absl::StatusOr<Assignment> AssignmentOf(const PlannedLayout& layout,
                                        const FlatGraph& graph,
                                        SharedRules rules) {
  const std::vector<std::string> names = OpNames(graph);
  Assignment assignment{.rules = std::move(rules)};
  MW_ASSIGN_OR_RETURN(assignment.strategies,
                      StrategiesOf(layout, graph, assignment.rules, names));
  assignment.sharing.assign(graph.values.size(), Sharing::kOnce);
  if (layout.moved_apart.empty() && layout.moved_in_place.empty()) {
    return assignment;
  }
  const std::vector<std::string> values = ValueNames(graph, names);
  const Numbers numbers = NumbersOf(values);
  MW_RETURN_IF_ERROR(
      Mark(layout.moved_apart, Sharing::kApart, numbers, assignment.sharing));
  MW_RETURN_IF_ERROR(Mark(layout.moved_in_place, Sharing::kInPlace, numbers,
                          assignment.sharing));
  return assignment;
}

std::vector<std::vector<std::string>> ForwardByStage(
    const Computation& micro_batch, absl::Span<const StageId> stage_of,
    int32_t stages) {
  std::vector<std::vector<std::string>> forward(stages);
  const std::vector<std::string> names = InstructionNames(micro_batch);
  for (size_t i = 0; i < names.size(); ++i) {
    if (stage_of[i] >= 0) forward[stage_of[i]].push_back(names[i]);
  }
  return forward;
}

absl::StatusOr<std::vector<StageId>> StagesOf(const PlannedPipeline& pipeline,
                                              const Computation& micro_batch) {
  const std::vector<std::string> names = InstructionNames(micro_batch);
  const Numbers numbers = NumbersOf(names);
  std::vector<StageId> stage_of(micro_batch.size(), kNoStage);
  for (size_t stage = 0; stage < pipeline.forward.size(); ++stage) {
    for (const std::string& name : pipeline.forward[stage]) {
      const auto found = numbers.find(name);
      if (found == numbers.end()) {
        return absl::InvalidArgumentError(
            absl::StrCat("the plan has a stage for ", name,
                         ", which a micro-batch does not have; plan it again"));
      }
      if (stage_of[found->second] >= 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("the plan has two stages for ", name));
      }
      stage_of[found->second] = StageId(stage);
    }
  }
  return stage_of;
}

}  // namespace meshwright
