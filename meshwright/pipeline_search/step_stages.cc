#include "meshwright/pipeline_search/step_stages.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "meshwright/analysis/flops.h"
#include "meshwright/base/element_type.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/hlo/opcode_traits.h"
#include "meshwright/hlo/shape.h"
#include "meshwright/pipeline/cut_graph.h"
#include "meshwright/pipeline/stage_backward.h"

namespace meshwright {
namespace {

// By instruction id: a float, or a tuple, that weights were used for.
std::vector<bool> NeedsGradient(const Computation& entry,
                                const std::vector<bool>& is_data) {
  std::vector<bool> needs(entry.size());
  for (const auto& instruction : entry.instructions()) {
    if (instruction->shape.IsArray() &&
        !IsFloating(instruction->shape.element_type)) {
      continue;
    }
    needs[instruction->id] =
        instruction->opcode == Opcode::kParameter
            ? !is_data[instruction->attributes->parameter_number]
            : std::ranges::any_of(instruction->operands,
                                  [&](const Instruction* operand) {
                                    return needs[operand->id];
                                  });
  }
  return needs;
}

// The forward one and those for gradients.
double RunsOf(const Instruction& instruction,
              const std::vector<bool>& needs_gradient) {
  double runs = 1;
  if (!IsContraction(instruction.opcode)) {
    // Loops mostly hold contractions of which both operands need one.
    const double backward = instruction.called.empty() ? 1 : 2;
    if (needs_gradient[instruction.id]) runs += backward;
  } else {
    for (const Instruction* operand : instruction.operands) {
      if (needs_gradient[operand->id]) runs += 1;
    }
  }
  return runs;
}

}  // namespace

StepGraph MakeStepGraph(const PipelineStep& step,
                        const StepGraphOptions& options) {
  const MicroBatchProgram& phase = step.split.phases[0];
  const Computation& entry = *phase.module.entry();
  const CutGraph cut = GraphOf(phase);
  const ModuleWork work(phase.module);
  const std::vector<bool> needs_gradient = NeedsGradient(entry, step.is_data);
  StepGraph result;
  StageGraph& graph = result.graph;
  std::vector<int32_t> value_of(entry.size(), -1);  // By instruction id.
  std::vector<int32_t> node_of(entry.size(), -1);
  std::map<int32_t, std::vector<int32_t>> layers;

  const auto value_for = [&](const Instruction& made) {
    int32_t& value = value_of[made.id];
    if (value >= 0) return value;
    value = static_cast<int32_t>(graph.values.size());
    const int64_t bytes =
        ByteSize(made.shape) * (needs_gradient[made.id] ? 2 : 1);
    if (cut.parameter[made.id]) {
      graph.values.push_back({.bytes = bytes / step.split.count});
    } else {
      graph.values.push_back(
          {.bytes = bytes, .producer = node_of[cut.owner[made.id]]});
    }
    return value;
  };
  for (int32_t id = 0; id < entry.size(); ++id) {
    if (!step.forward[id] || !cut.IsNode(id)) continue;
    const Instruction& instruction = *entry.instruction(id);
    const int32_t node = graph.size();
    node_of[id] = node;
    result.instruction_of.push_back(id);
    const Work done = work.Of(instruction);
    const double once = options.seconds.empty()
                            ? done.flops + done.transcendentals
                            : options.seconds[id];
    graph.nodes.push_back(
        {.work = once * RunsOf(instruction, needs_gradient),
         .held = ByteSize(instruction.shape),
         .fixed = options.fixed.empty() ? kAnyStage : options.fixed[id],
         .name = instruction.name});
    if (!options.layers.empty() && options.layers[id] >= 0) {
      layers[options.layers[id]].push_back(node);
    }
    for (const Instruction* source : cut.sources[id]) {
      const bool is_parameter = cut.parameter[source->id];
      if (is_parameter && step.is_data[source->attributes->parameter_number]) {
        continue;
      }
      if (is_parameter && value_of[source->id] < 0) {
        graph.nodes[node].held += ByteSize(source->shape);
      }
      graph.values[value_for(*source)].consumers.push_back(node);
    }
  }
  for (auto& [layer, nodes] : layers) graph.groups.push_back(std::move(nodes));
  return result;
}

std::vector<StageId> ByInstruction(const PipelineStep& step,
                                   const StepGraph& graph,
                                   const std::vector<StageId>& stages) {
  std::vector<StageId> forward(step.micro_batch().entry()->size(), kNoStage);
  for (size_t node = 0; node < stages.size(); ++node) {
    forward[graph.instruction_of[node]] = stages[node];
  }
  return forward;
}

namespace {

// Sums over the nodes of each stage.
template <typename T>
std::vector<T> SumsOf(T StageGraph::Node::*member, const StageGraph& graph,
                      const std::vector<StageId>& stages,
                      const StageLimits& limits) {
  std::vector<T> sums(limits.stages(), 0);
  for (int32_t node = 0; node < graph.size(); ++node) {
    sums[stages[node]] += graph.nodes[node].*member;
  }
  return sums;
}

// Weights that several stages use are sent once a step: they do not count.
std::vector<StageCrossing> CrossingsOf(const StageGraph& graph,
                                       const std::vector<StageId>& stages) {
  std::map<std::pair<StageId, StageId>, int64_t> bytes;
  for (const StageGraph::Value& value : graph.values) {
    if (value.producer == kNoProducer) continue;
    const StageId from = stages[value.producer];
    std::set<StageId> to;
    for (const int32_t consumer : value.consumers) to.insert(stages[consumer]);
    to.erase(from);
    for (const StageId stage : to) bytes[{from, stage}] += value.bytes;
  }
  std::vector<StageCrossing> crossings;
  for (const auto& [pair, sum] : bytes) {
    crossings.push_back({.from = pair.first, .to = pair.second, .bytes = sum});
  }
  return crossings;
}

}  // namespace

absl::StatusOr<StepStages> AssignStepStages(const PipelineStep& step,
                                            const StageLimits& limits,
                                            const StepGraphOptions& options,
                                            const AssignOptions& assign) {
  const StepGraph graph = MakeStepGraph(step, options);
  MW_ASSIGN_OR_RETURN(StageAssignment assignment,
                      AssignStages(graph.graph, limits, assign));
  StepStages result{.forward = ByInstruction(step, graph, assignment.stages),
                    .work = SumsOf(&StageGraph::Node::work, graph.graph,
                                   assignment.stages, limits),
                    .held = SumsOf(&StageGraph::Node::held, graph.graph,
                                   assignment.stages, limits),
                    .crossings = CrossingsOf(graph.graph, assignment.stages)};
  result.assignment = std::move(assignment);
  return result;
}

}  // namespace meshwright
