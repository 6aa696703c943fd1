#include "meshwright/pipeline_search/stage_core.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "meshwright/pipeline_search/stage_mip.h"

namespace meshwright {
namespace {

// Ranges within which a node has no needs after it, no users before it. None:
// one is empty.
std::optional<std::vector<StageRange>> Tighten(const StageGraph& graph,
                                               std::vector<StageRange> ranges) {
  // Values in the order of their producers reach all that follows at once.
  std::vector<const StageGraph::Value*> values;
  for (const StageGraph::Value& value : graph.values) {
    if (value.producer != kNoProducer) values.push_back(&value);
  }
  std::ranges::stable_sort(values, {}, &StageGraph::Value::producer);
  for (const StageGraph::Value* value : values) {
    for (const int32_t consumer : value->consumers) {
      ranges[consumer].first =
          std::max(ranges[consumer].first, ranges[value->producer].first);
    }
  }
  std::ranges::reverse(values);
  for (const StageGraph::Value* value : values) {
    for (const int32_t consumer : value->consumers) {
      ranges[value->producer].last =
          std::min(ranges[value->producer].last, ranges[consumer].last);
    }
  }
  for (const StageRange& range : ranges) {
    if (range.first > range.last) return std::nullopt;
  }
  return ranges;
}

}  // namespace

StageCoreAnswer SolveStageCore(const StageCore& core, const StageLimits& limits,
                               const StagePolicy& policy) {
  const StageGraph& graph = core.clusters->graph;
  const auto ranges = Tighten(graph, core.ranges);
  if (!ranges.has_value()) return {.bytes_bound = core.known};
  std::vector<double> bounds = limits.BoundsOf(graph.TotalWork(), core.balance);
  for (double& bound : bounds) bound *= 1 + kWorkRounding;

  // With what was moved anywhere, and any memory: a bound.
  const StageMip relaxed(graph, *ranges, core.clusters->unmoved_work, bounds);
  const int64_t rows = std::ssize(relaxed.mip().rows) + 1;
  if (rows > policy.core_rows) return {};
  MipOptions options{
      .node_limit = policy.core_nodes,
      .iteration_limit = policy.core_iterations_times_rows / rows,
      .initial = relaxed.ValuesOf(core.start),
      .gap = policy.core_gap};
  const auto least = SolveMip(relaxed.mip(), options);
  if (!least.ok()) return {};
  StageCoreAnswer answer;
  const double bytes = std::clamp(relaxed.BytesOf(least->bound), 0.0,
                                  static_cast<double>(core.known));
  answer.bytes_bound = std::max<int64_t>(
      0, static_cast<int64_t>(std::ceil(bytes)) - core.clusters->slack);
  if (answer.bytes_bound >= core.known) return answer;

  const auto take = [&](std::vector<StageId> stages) {
    const CutCost cost = CostOf(graph, limits, stages);
    if (cost.balance > core.balance * (1 + kWorkRounding) ||
        cost.cut_bytes >= core.known ||
        !CheckStages(graph, limits, stages).ok()) {
      return false;
    }
    answer.stages = std::move(stages);
    return true;
  };
  if (least->values.empty()) return answer;
  const std::vector<StageId> stages = relaxed.StagesOf(least->values);
  if (CostOf(graph, limits, stages).cut_bytes >= core.known || take(stages)) {
    return answer;
  }
  std::vector<double> work;
  for (const StageGraph::Node& node : graph.nodes) work.push_back(node.work);
  StageMip whole(graph, *ranges, work, bounds);
  whole.LimitMemory(limits.memory);
  whole.UseAllStages();
  options.initial = whole.ValuesOf(core.start);
  const auto best = SolveMip(whole.mip(), options);
  if (best.ok() && !best->values.empty()) take(whole.StagesOf(best->values));
  return answer;
}

}  // namespace meshwright
