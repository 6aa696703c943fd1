#include "meshwright/pipeline_search/step_for_stages.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "meshwright/analysis/roles.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/pipeline_search/split_for_stages.h"
#include "meshwright/remat/forward_segments.h"

namespace meshwright {

namespace {

std::vector<TensorParts> AllWhole(size_t count) {
  std::vector<TensorParts> parts(count);
  for (size_t i = 0; i < count; ++i) parts[i].first = static_cast<int64_t>(i);
  return parts;
}

// With all tensors of the step that it was made of, whole.
SplitStep Unsplit(Module module) {
  const ModuleRoles roles = AnalyzeRoles(module);
  return {.module = std::move(module),
          .parameters = AllWhole(roles.parameters.size()),
          .outputs = AllWhole(roles.outputs.size())};
}

// By instruction id of a micro-batch: the segment that is rematerialised
// together, or -1 (the last segment is not rematerialised).
std::vector<int32_t> SegmentsOf(const Module& module,
                                const PipelineStep& step) {
  const ForwardSegments segments = SegmentForward(module, AnalyzeRoles(module));
  absl::flat_hash_map<std::string, int32_t> by_name;
  for (const auto& instruction : module.entry()->instructions()) {
    const int32_t segment = segments.segment_of[instruction->id];
    if (segment >= 0 && segment + 1 < segments.count) {
      by_name[instruction->name] = segment;
    }
  }
  std::vector<int32_t> layers(step.micro_batch().entry()->size(), -1);
  for (const auto& instruction : step.micro_batch().entry()->instructions()) {
    const auto found = by_name.find(instruction->name);
    if (found != by_name.end()) layers[instruction->id] = found->second;
  }
  return layers;
}

// The step that computes so much again; nullopt: the step as it is.
absl::StatusOr<std::optional<SplitStep>> WholeStep(const Module& module,
                                                   Recompute recompute) {
  if (recompute == Recompute::kNone) return std::nullopt;
  MW_ASSIGN_OR_RETURN(Module lean, RecomputeForward(module, recompute));
  return Unsplit(std::move(lean));
}

absl::StatusOr<std::optional<SplitStep>> Cut(const Module& step,
                                             int32_t loop_stages) {
  if (loop_stages == 1) return std::nullopt;
  return SplitLoopsForStages(step, AnalyzeRoles(step), loop_stages);
}

}  // namespace

absl::StatusOr<std::optional<SplitStep>> StepForStages(const Module& module,
                                                       Recompute recompute,
                                                       int32_t loop_stages) {
  MW_ASSIGN_OR_RETURN(std::optional<SplitStep> whole,
                      WholeStep(module, recompute));
  MW_ASSIGN_OR_RETURN(
      std::optional<SplitStep> split,
      Cut(whole.has_value() ? whole->module : module, loop_stages));
  return split.has_value() ? std::move(split) : std::move(whole);
}

absl::StatusOr<StepStages> EvenStages(const Module& module,
                                      const PipelineStep& step,
                                      StageLimits limits, Recompute recompute,
                                      std::vector<double> seconds,
                                      const AssignOptions& assign) {
  limits.tolerance = assign.policy.tolerance;
  const auto assign_with = [&](const StepGraphOptions& options) {
    absl::StatusOr<StepStages> stages = absl::NotFoundError("not tried");
    for (const double least : assign.policy.least) {
      limits.least = least;
      stages = AssignStepStages(step, limits, options, assign);
      if (stages.ok() || absl::IsDeadlineExceeded(stages.status())) break;
    }
    return stages;
  };
  if (recompute != Recompute::kNone) {
    absl::StatusOr<StepStages> whole =
        assign_with({.layers = SegmentsOf(module, step), .seconds = seconds});
    if (whole.ok() && whole->assignment.cost.balance <= assign.policy.uneven)
      return whole;
  }
  return assign_with({.seconds = std::move(seconds)});
}

}  // namespace meshwright
