#include "meshwright/schedule/stage_edges.h"

#include <algorithm>
#include <set>
#include <utility>

namespace meshwright {

std::vector<StageEdge> EdgesOf(const StagedStep& step) {
  std::set<std::pair<StageId, StageId>> pairs;
  for (const StageValue& value : step.values) {
    const StageProgram& from = step.programs[value.program];
    if (from.kind == StageProgram::Kind::kApply) continue;
    for (const ProgramId user : value.users) {
      const StageId to = step.programs[user].stage;
      if (to != from.stage) pairs.insert(std::minmax(from.stage, to));
    }
  }
  std::vector<StageEdge> edges;
  for (const auto& [from, to] : pairs) {
    edges.push_back({.from = from, .to = to});
  }
  return edges;
}

}  // namespace meshwright
