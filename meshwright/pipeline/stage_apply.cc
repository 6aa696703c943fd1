#include "meshwright/pipeline/stage_apply.h"

#include <algorithm>
#include <set>
#include <utility>

#include "meshwright/pipeline/stage_backward.h"

namespace meshwright {
namespace {

// Norms, counters and the like: not worth a round of their own.
constexpr int64_t kFewBytes = 64;

class ApplyPlacer {
 public:
  ApplyPlacer(const Computation& entry, const CutGraph& graph,
              std::vector<StageId> homes, const std::vector<int64_t>& next_of)
      : entry_(entry),
        graph_(graph),
        next_of_(next_of),
        stage_(entry.size(), kNoStage),
        parameters_(entry.Parameters()) {
    for (size_t i = 0; i < homes.size(); ++i) {
      stage_[parameters_[i]->id] = homes[i];
    }
  }

  ApplyPlaces Run() {
    FollowOperands();
    PlaceOutputs();
    ApplyPlaces apply;
    for (const Instruction* parameter : parameters_) {
      apply.parameters.push_back(stage_[parameter->id]);
    }
    apply.places = Rounds();
    return apply;
  }

 private:
  bool IsKnown(const Instruction* value) const {
    return StageOf(value) != kNoStage;
  }
  StageId StageOf(const Instruction* value) const {
    return stage_[graph_.owner[value->id]];
  }

  // Every instruction runs on the stage of its largest operand; parameters that
  // nothing places (the moments of Adam) are on the stage of their first use.
  void FollowOperands() {
    for (bool any = true; any;) {
      while (Sweep(/*guess=*/false)) {
      }
      any = Sweep(/*guess=*/true);
    }
    for (StageId& stage : stage_) stage = std::max(stage, StageId(0));
  }

  bool Sweep(bool guess) {
    bool changed = false;
    for (int32_t id = 0; id < entry_.size(); ++id) {
      if (!graph_.IsNode(id)) continue;
      if (stage_[id] == kNoStage) {
        stage_[id] = FromSources(id, guess);
        changed = changed || stage_[id] != kNoStage;
      }
      if (stage_[id] == kNoStage) continue;
      const Shape& shape = entry_.instruction(id)->shape;
      for (const Instruction* source : graph_.sources[id]) {
        if (IsKnown(source) || !shape.IsArray() ||
            ElementCount(source->shape) < ElementCount(shape)) {
          continue;
        }
        stage_[graph_.owner[source->id]] = stage_[id];
        changed = true;
      }
      if (guess && changed) return true;
    }
    return changed;
  }

  // The stage of the largest source, the first stage if there are several.
  // `guess`: even if a larger source has no stage yet.
  StageId FromSources(int32_t id, bool guess) const {
    int64_t largest = -1;
    int64_t largest_unknown = -1;
    StageId chosen = kNoStage;
    std::set<StageId> stages;
    for (const Instruction* source : graph_.sources[id]) {
      const int64_t bytes = ByteSize(source->shape);
      if (!IsKnown(source)) {
        largest_unknown = std::max(largest_unknown, bytes);
        continue;
      }
      const StageId stage = StageOf(source);
      stages.insert(stage);
      if (bytes > largest || (bytes == largest && stage < chosen)) {
        largest = bytes;
        chosen = stage;
      }
    }
    if (!guess && (largest_unknown > largest ||
                   (largest_unknown == largest && largest <= kFewBytes))) {
      return kNoStage;
    }
    const bool few = largest <= kFewBytes &&
                     ByteSize(entry_.instruction(id)->shape) <= kFewBytes;
    return few && stages.size() > 1 ? StageId(0) : chosen;
  }

  void PlaceOutputs() {
    for (size_t i = 0; i < next_of_.size(); ++i) {
      const Instruction* output = entry_.root()->operands[i];
      if (next_of_[i] < 0 || graph_.parameter[output->id]) continue;
      stage_[graph_.owner[output->id]] = StageOf(parameters_[next_of_[i]]);
    }
  }

  std::vector<ApplyPlace> Rounds() const {
    std::vector<ApplyPlace> places(entry_.size());
    const auto place = [&](int32_t id,
                           const std::vector<const Instruction*>& sources) {
      places[id].stage = stage_[id];
      for (const Instruction* source : sources) {
        if (graph_.parameter[source->id]) continue;
        const ApplyPlace& from = places[graph_.owner[source->id]];
        places[id].round = std::max(
            places[id].round, from.round + (from.stage != stage_[id] ? 1 : 0));
      }
    };
    for (int32_t id = 0; id < entry_.size(); ++id) {
      if (graph_.IsNode(id)) place(id, graph_.sources[id]);
    }
    for (const Instruction* output : entry_.root()->operands) {
      if (graph_.copied[output->id]) {
        place(output->id, SourcesOf(graph_, *output));
      }
    }
    return places;
  }

  const Computation& entry_;
  const CutGraph& graph_;
  const std::vector<int64_t>& next_of_;
  std::vector<StageId> stage_;
  const std::vector<Instruction*> parameters_;
};

}  // namespace

std::vector<std::vector<int64_t>> OutputsLike(const Computation& entry) {
  const auto outputs = static_cast<int64_t>(entry.root()->operands.size());
  std::vector<std::set<int64_t>> reached(entry.size());
  for (int64_t i = 0; i < outputs; ++i) {
    reached[entry.root()->operands[i]->id].insert(i);
  }
  for (int32_t id = entry.size(); id-- > 0;) {
    const Instruction& instruction = *entry.instruction(id);
    if (reached[id].empty() || !instruction.shape.IsArray()) continue;
    const int64_t size = ElementCount(instruction.shape);
    for (const Instruction* operand : instruction.operands) {
      if (size > 1 && operand->shape.IsArray() &&
          ElementCount(operand->shape) == size) {
        reached[operand->id].insert(reached[id].begin(), reached[id].end());
      }
    }
  }
  std::vector<std::vector<int64_t>> like;
  for (const Instruction* parameter : entry.Parameters()) {
    const std::set<int64_t>& found = reached[parameter->id];
    like.emplace_back(found.begin(), found.end());
  }
  return like;
}

ApplyPlaces PlaceApply(const Computation& entry, const CutGraph& graph,
                       std::vector<StageId> homes,
                       const std::vector<int64_t>& next_of) {
  return ApplyPlacer(entry, graph, std::move(homes), next_of).Run();
}

}  // namespace meshwright
