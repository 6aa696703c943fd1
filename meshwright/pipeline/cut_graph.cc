#include "meshwright/pipeline/cut_graph.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "meshwright/hlo/opcode_traits.h"

namespace meshwright {
namespace {

// Whether whoever has the operands has the result at once.
bool IsLight(const Instruction& instruction) {
  const Opcode opcode = instruction.opcode;
  return instruction.shape.IsArray() && instruction.called.empty() &&
         (IsElementwise(opcode) || IsMovement(opcode) || KeepsBytes(opcode) ||
          IsBarrier(opcode));
}

bool IsTrivial(const Instruction& instruction,
               const std::vector<bool>& is_fixed,
               const std::vector<bool>& trivial) {
  switch (instruction.opcode) {
    case Opcode::kConstant:
    case Opcode::kIota:
      return true;
    case Opcode::kParameter:
      return instruction.shape.IsScalar() ||
             (!is_fixed.empty() &&
              is_fixed[instruction.attributes->parameter_number]);
    default:
      break;
  }
  return IsLight(instruction) &&
         std::ranges::all_of(
             instruction.operands,
             [&](const Instruction* operand) { return trivial[operand->id]; });
}

// Each instruction once: many ways may lead through what is copied.
using Seen = absl::flat_hash_set<const Instruction*>;

void AddSources(const CutGraph& graph, const Instruction& value, Seen& seen,
                std::vector<const Instruction*>& sources) {
  if (!seen.insert(&value).second) return;
  if (!graph.copied[value.id]) {
    sources.push_back(&value);
    return;
  }
  for (const Instruction* operand : value.operands) {
    AddSources(graph, *operand, seen, sources);
  }
}

std::vector<bool> LiveIn(const Computation& computation) {
  std::vector<bool> live(computation.size());
  live[computation.root()->id] = true;
  for (int32_t id = computation.size(); id-- > 0;) {
    if (!live[id]) continue;
    for (const Instruction* operand : computation.instruction(id)->operands) {
      live[operand->id] = true;
    }
  }
  return live;
}

}  // namespace

CutGraph MakeCutGraph(const Computation& computation,
                      const std::vector<bool>& is_fixed) {
  CutGraph graph;
  graph.live = LiveIn(computation);
  graph.parameter.resize(computation.size());
  graph.copied.resize(computation.size());
  graph.trivial.resize(computation.size());
  graph.owner.resize(computation.size());
  graph.sources.resize(computation.size());
  for (int32_t id = 0; id < computation.size(); ++id) {
    const Instruction& instruction = *computation.instruction(id);
    graph.owner[id] = id;
    graph.trivial[id] = IsTrivial(instruction, is_fixed, graph.trivial);
    graph.parameter[id] = instruction.opcode == Opcode::kParameter;
    if (graph.parameter[id]) continue;
    graph.copied[id] = graph.trivial[id] ||
                       instruction.opcode == Opcode::kBroadcast ||
                       instruction.opcode == Opcode::kTuple;
    if (instruction.opcode == Opcode::kGetTupleElement) {
      const int32_t from = instruction.operands[0]->id;
      graph.copied[id] = graph.copied[from];
      graph.owner[id] = graph.owner[from];
    }
    if (graph.copied[id] || graph.owner[id] != id) continue;
    Seen seen;
    for (const Instruction* operand : instruction.operands) {
      AddSources(graph, *operand, seen, graph.sources[id]);
    }
  }
  return graph;
}

std::vector<const Instruction*> SourcesOf(const CutGraph& graph,
                                          const Instruction& value) {
  std::vector<const Instruction*> sources;
  Seen seen;
  AddSources(graph, value, seen, sources);
  return sources;
}

}  // namespace meshwright
