#include "meshwright/search/pipeline_step.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/analysis/direction.h"
#include "meshwright/base/status_macros.h"

namespace meshwright {
namespace {

using Kind = MicroBatchArgument::Kind;

// The results of the phase that output `loss` of the step is made of.
std::vector<int64_t> LossResults(const MicroBatched& split, int64_t loss) {
  const Computation& apply = *split.apply.module.entry();
  const std::vector<bool> needed = NeededBy(apply, {loss});
  std::vector<int64_t> results;
  for (const Instruction* parameter : apply.Parameters()) {
    const MicroBatchArgument& argument =
        split.apply.arguments[parameter->attributes->parameter_number];
    if (!needed[parameter->id] || argument.kind != Kind::kAccumulator) {
      continue;
    }
    const auto& made = split.phases[0].accumulators;
    results.push_back(std::ranges::find(made, argument.index) - made.begin());
  }
  return results;
}

}  // namespace

absl::StatusOr<PipelineStep> TakeApart(const Module& module,
                                       const ModuleRoles& roles,
                                       const MicroBatchOptions& options) {
  for (const Instruction* parameter : module.entry()->Parameters()) {
    if (parameter->shape.IsArray()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("parameter ", parameter->name,
                     " is no array; a pipeline needs one per tensor"));
  }
  if (!roles.loss.has_value()) {
    return absl::InvalidArgumentError(
        "no output of the step is its loss, so that there is no telling what "
        "is forward and what backward");
  }
  MW_ASSIGN_OR_RETURN(MicroBatched split, SplitMicroBatches(module, options));
  if (split.phases.size() > 1) {
    for (const Accumulator& accumulator : split.accumulators) {
      if (accumulator.phase > 0) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "the step needs ", accumulator.tensor,
          " over the whole batch before it can go on; stages cannot wait for "
          "that"));
    }
  }
  PipelineStep step{.split = std::move(split)};
  const MicroBatchProgram& phase = step.split.phases[0];
  const std::vector<int64_t> results = LossResults(step.split, *roles.loss);
  if (results.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the loss ", roles.outputs[*roles.loss].name,
                     " does not depend on the batch"));
  }
  step.forward = NeededBy(*phase.module.entry(), results);
  for (const MicroBatchArgument& argument : phase.arguments) {
    step.is_data.push_back(argument.cut.has_value() ||
                           argument.kind == Kind::kIndex);
  }
  for (const StatePair& pair : roles.state_pairs) {
    step.state.push_back({.parameter = pair.parameter, .output = pair.output});
  }
  return step;
}

}  // namespace meshwright
