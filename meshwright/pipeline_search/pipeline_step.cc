#include "meshwright/pipeline_search/pipeline_step.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "meshwright/analysis/direction.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/graph/flat_graph.h"
#include "meshwright/microbatch/batch_dimensions.h"
#include "meshwright/microbatch/one_phase.h"

namespace meshwright {
namespace {

using Kind = MicroBatchArgument::Kind;

// The results of the phase that output `loss` of the step depends on.
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
  MW_ASSIGN_OR_RETURN(MicroBatched split, SplitInOnePhase(module, options));
  PipelineStep step{.split = std::move(split)};
  const MicroBatchProgram& phase = step.split.phases[0];
  const std::vector<int64_t> results = LossResults(step.split, *roles.loss);
  if (results.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the loss ", roles.outputs[*roles.loss].name,
                     " does not depend on the batch"));
  }
  step.forward = NeededBy(*phase.module.entry(), results);
  MW_ASSIGN_OR_RETURN(const std::vector<std::optional<int64_t>> batch,
                      BatchDimensions(module, Flatten(module), options));
  for (const MicroBatchArgument& argument : phase.arguments) {
    // Includes parameters that are passed whole, and of which micro-batches
    // take their parts.
    const bool is_batch =
        argument.kind == Kind::kParameter && batch[argument.index].has_value();
    step.is_data.push_back(is_batch || argument.kind == Kind::kIndex);
  }
  for (const StatePair& pair : roles.state_pairs) {
    step.state.push_back({.parameter = pair.parameter, .output = pair.output});
  }
  return step;
}

}  // namespace meshwright
