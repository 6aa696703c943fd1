#include "meshwright/pipeline/stage_backward.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "meshwright/analysis/repeated_ops.h"
#include "meshwright/solve/min_cut.h"

namespace meshwright {
namespace {

// The instructions that only add up terms of results.
std::vector<bool> SumsOf(const BackwardProblem& problem) {
  std::vector<bool> sums(problem.entry->size());
  const Instruction* const root = problem.entry->root();
  for (size_t i = 0; i < problem.terms.size(); ++i) {
    const auto& terms = problem.terms[i];
    if (terms.empty()) continue;
    std::vector<const Instruction*> stack = {root->operands[i]};
    while (!stack.empty()) {
      const Instruction* sum = stack.back();
      stack.pop_back();
      if (sum->opcode == Opcode::kParameter ||
          std::ranges::find(terms, sum) != terms.end()) {
        continue;
      }
      sums[sum->id] = true;
      for (const Instruction* operand : sum->operands) stack.push_back(operand);
    }
  }
  return sums;
}

class BackwardPlacer {
 public:
  explicit BackwardPlacer(const BackwardProblem& problem)
      : problem_(problem),
        entry_(*problem.entry),
        graph_(*problem.graph),
        is_sum_(SumsOf(problem)),
        available_(ForwardStages(entry_, graph_, problem.forward)),
        stage_(problem.forward) {
    for (int32_t id = 0; id < entry_.size(); ++id) {
      if (IsFree(id)) stage_[id] = StageId(0);
    }
    FindRepeated();
  }

  std::vector<StageId> Run() {
    for (StageId last{0}; last + 1 < problem_.stages; ++last) Cut(last);
    for (size_t i = 0; i < problem_.terms.size(); ++i) PlaceSums(i);
    return stage_;
  }

 private:
  bool IsFree(int32_t id) const {
    return graph_.IsNode(id) && problem_.forward[id] == kNoStage &&
           !is_sum_[id];
  }

  // Prefers for rematerialised nodes the stage of their original, at a price
  // above that of all bytes.
  void FindRepeated() {
    const std::vector<int32_t> first = FirstIdentical(entry_);
    int64_t all = 1;
    for (int32_t id = 0; id < entry_.size(); ++id) {
      if (graph_.IsNode(id)) all += Cost(id);
      if (IsFree(id) && problem_.forward[first[id]] != kNoStage) {
        wanted_.push_back({id, problem_.forward[first[id]]});
      }
    }
    astray_ = std::min(all, MinCut::kNever / (2 * std::ssize(wanted_) + 2));
  }

  // Decides which nodes run on stages after `last`.
  void Cut(StageId last) {
    MinCut cut;
    std::vector<int32_t> nodes(entry_.size(), -1);
    for (int32_t id = 0; id < entry_.size(); ++id) {
      if (IsFree(id)) nodes[id] = cut.AddNode();
    }
    // By value: a node that is before the boundary if a user is, or behind it
    // if a user is.
    absl::flat_hash_map<int32_t, int32_t> crossings;
    const auto crossing = [&](int32_t value) {
      const auto [entry, is_new] = crossings.try_emplace(value, 0);
      if (is_new) {
        entry->second = cut.AddNode();
        if (nodes[graph_.owner[value]] >= 0) {
          cut.AddEdge(nodes[graph_.owner[value]], entry->second, Cost(value));
        }
      }
      return entry->second;
    };
    for (int32_t id = 0; id < entry_.size(); ++id) {
      if (nodes[id] < 0) continue;
      for (const Instruction* source : graph_.sources[id]) {
        const int32_t owner = graph_.owner[source->id];
        if (nodes[owner] >= 0) {
          cut.AddEdge(crossing(source->id), nodes[id], MinCut::kNever);
          cut.AddEdge(nodes[id], nodes[owner], MinCut::kNever);
          continue;
        }
        const std::set<StageId>& at = available_[source->id];
        if (at.empty() || IsGivenAnywhere(*source)) continue;
        if (*at.begin() > last) {
          const bool is_new = !crossings.contains(source->id);
          const int32_t node = crossing(source->id);
          if (is_new) cut.AddEdge(cut.source(), node, Cost(source->id));
          cut.AddEdge(node, nodes[id], MinCut::kNever);
        } else if (*at.rbegin() <= last) {
          const bool is_new = !crossings.contains(source->id);
          const int32_t node = crossing(source->id);
          if (is_new) cut.AddEdge(node, cut.sink(), Cost(source->id));
          cut.AddEdge(nodes[id], node, MinCut::kNever);
        }
      }
    }
    for (size_t i = 0; i < problem_.homes.size(); ++i) {
      AddHome(i, last, nodes, cut);
    }
    for (const auto& [id, stage] : wanted_) {
      if (stage > last) {
        cut.AddEdge(cut.source(), nodes[id], astray_);
      } else {
        cut.AddEdge(nodes[id], cut.sink(), astray_);
      }
    }
    const std::vector<bool> after = cut.Solve();
    for (int32_t id = 0; id < entry_.size(); ++id) {
      if (nodes[id] >= 0 && after[nodes[id]]) stage_[id] = last + 1;
    }
  }

  // Data is given by the host to each stage that needs it.
  bool IsGivenAnywhere(const Instruction& source) const {
    return source.opcode == Opcode::kParameter &&
           !problem_.is_state[source.attributes->parameter_number];
  }

  void AddHome(size_t result, StageId last, const std::vector<int32_t>& nodes,
               MinCut& cut) {
    const std::set<StageId>& home = problem_.homes[result];
    if (home.empty()) return;
    std::vector<const Instruction*> makers = problem_.terms[result];
    if (makers.empty()) makers = {entry_.root()->operands[result]};
    for (const Instruction* maker : makers) {
      const int32_t node = nodes[graph_.owner[maker->id]];
      if (node < 0) continue;
      if (*home.rbegin() <= last) {
        cut.AddEdge(node, cut.sink(), Cost(maker->id));
      } else if (*home.begin() > last) {
        cut.AddEdge(cut.source(), node, Cost(maker->id));
      }
    }
  }

  // Bytes per step.
  int64_t Cost(int32_t value) const {
    const Instruction& instruction = *entry_.instruction(value);
    const int64_t bytes = ByteSize(instruction.shape);
    const bool once =
        instruction.opcode == Opcode::kParameter &&
        problem_.is_state[instruction.attributes->parameter_number];
    return bytes * (once ? 1 : problem_.micro_batches);
  }

  // A sum is on the stage of its terms if they are all on one.
  void PlaceSums(size_t result) {
    if (problem_.terms[result].empty()) return;
    std::set<StageId> stages;
    for (const Instruction* term : problem_.terms[result]) {
      stages.insert(stage_[graph_.owner[term->id]]);
    }
    if (stages.size() > 1) return;
    std::vector<const Instruction*> stack = {entry_.root()->operands[result]};
    while (!stack.empty()) {
      const Instruction* sum = stack.back();
      stack.pop_back();
      if (!is_sum_[sum->id]) continue;
      stage_[sum->id] = *stages.begin();
      for (const Instruction* operand : sum->operands) stack.push_back(operand);
    }
  }

  const BackwardProblem& problem_;
  const Computation& entry_;
  const CutGraph& graph_;
  const std::vector<bool> is_sum_;
  const std::vector<std::set<StageId>> available_;
  std::vector<StageId> stage_;
  // Ids and their preferred stages.
  std::vector<std::pair<int32_t, StageId>> wanted_;
  int64_t astray_ = 0;  // The cost of not being there.
};

}  // namespace

std::vector<StageId> PlaceBackward(const BackwardProblem& problem) {
  return BackwardPlacer(problem).Run();
}

std::vector<std::set<StageId>> ForwardStages(
    const Computation& entry, const CutGraph& graph,
    const std::vector<StageId>& forward) {
  std::vector<std::set<StageId>> stages(entry.size());
  for (int32_t id = 0; id < entry.size(); ++id) {
    const StageId stage = forward[graph.owner[id]];
    if (stage == kNoStage) continue;
    stages[id].insert(stage);
    for (const Instruction* source : graph.sources[id]) {
      stages[source->id].insert(stage);
    }
  }
  return stages;
}

}  // namespace meshwright
