#include "bench/stage_cut/baselines.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "meshwright/analysis/fingerprint.h"
#include "meshwright/analysis/repeats.h"
#include "meshwright/pipeline_search/cut_down_sets.h"
#include "meshwright/pipeline_search/down_sets.h"
#include "meshwright/pipeline_search/stage_policy.h"

namespace meshwright {
namespace {

uint64_t FingerprintOf(const Instruction& contraction) {
  Fingerprint fingerprint;
  fingerprint.Add(static_cast<uint64_t>(contraction.opcode));
  fingerprint.Add(contraction.shape);
  for (const Instruction* operand : contraction.operands) {
    fingerprint.Add(operand->shape);
  }
  return fingerprint.value();
}

// Repeats of fewer contractions, relative to all, are no layers.
constexpr int64_t kLayersPart = 8;

// By layer: its first and last contraction.
std::vector<std::pair<int32_t, int32_t>> Layers(
    const std::vector<int32_t>& contractions,
    const std::vector<uint64_t>& fingerprints) {
  std::vector<std::pair<int32_t, int32_t>> layers;
  int64_t covered = 0;
  for (const Repeat& repeat : FindRepeats(fingerprints)) {
    const int64_t size = repeat.period * repeat.count;
    if (size * kLayersPart < std::ssize(contractions)) continue;
    covered += size;
    for (int64_t copy = 0; copy < repeat.count; ++copy) {
      const int64_t first = repeat.begin + copy * repeat.period;
      layers.push_back(
          {contractions[first], contractions[first + repeat.period - 1]});
    }
  }
  if (2 * covered >= std::ssize(contractions)) return layers;
  layers.clear();
  for (const int32_t node : contractions) layers.push_back({node, node});
  return layers;
}

}  // namespace

std::optional<std::vector<StageId>> UniformLayers(const PipelineStep& step,
                                                  const StepGraph& graph,
                                                  int32_t stages) {
  std::vector<int32_t> contractions;
  std::vector<uint64_t> fingerprints;
  for (int32_t node = 0; node < graph.graph.size(); ++node) {
    const Instruction& instruction =
        *step.micro_batch().entry()->instruction(graph.instruction_of[node]);
    if (instruction.opcode != Opcode::kDot &&
        instruction.opcode != Opcode::kConvolution) {
      continue;
    }
    contractions.push_back(node);
    fingerprints.push_back(FingerprintOf(instruction));
  }
  const auto layers = Layers(contractions, fingerprints);
  const auto count = static_cast<int32_t>(layers.size());
  if (count < stages) return std::nullopt;
  const StageLimits two = StageLimits::Even(2, 0);
  std::vector<StageId> result(graph.graph.nodes.size());
  int32_t layer = 0;
  for (StageId stage{0}; stage + 1 < stages; ++stage) {
    layer += count / stages + (stage < count % stages ? 1 : 0);
    int64_t fewest = std::numeric_limits<int64_t>::max();
    int32_t best = 0;
    for (int32_t begin = layers[layer - 1].second + 1;
         begin <= layers[layer].first; ++begin) {
      std::vector<StageId> parts(result.size());
      std::fill(parts.begin() + begin, parts.end(), StageId(1));
      const int64_t bytes = CostOf(graph.graph, two, parts).cut_bytes;
      if (bytes < fewest) {
        fewest = bytes;
        best = begin;
      }
    }
    std::fill(result.begin() + best, result.end(), stage + 1);
  }
  return result;
}

std::vector<StageId> LinearProgramme(const StageGraph& graph,
                                     const StageLimits& limits) {
  const std::vector<NodeSet> sets = DownSetsInOrder(graph);
  std::vector<double> work;
  for (const StageGraph::Node& node : graph.nodes) work.push_back(node.work);
  const DownSetCutter cutter(graph, limits, sets, work);
  return CutWithin(cutter, graph, limits,
                   std::numeric_limits<double>::infinity(), StagePolicy())
      ->stages;
}

}  // namespace meshwright
