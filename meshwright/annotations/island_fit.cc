#include "meshwright/annotations/island_fit.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/rules/island.h"

namespace meshwright {

std::vector<const Instruction*> IslandsIn(const Module& module) {
  std::vector<const Instruction*> islands;
  for (const auto& computation : module.computations()) {
    for (const auto& instruction : computation->instructions()) {
      if (IsIsland(*instruction)) islands.push_back(instruction.get());
    }
  }
  return islands;
}

std::vector<Mesh> IslandMeshes(const Module& module) {
  std::vector<Mesh> meshes;
  for (const Instruction* instruction : IslandsIn(module)) {
    absl::StatusOr<Island> island = IslandOf(*instruction);
    if (island.ok() && !std::ranges::count(meshes, island->mesh)) {
      meshes.push_back(std::move(island->mesh));
    }
  }
  return meshes;
}

absl::Status CheckIslands(const Module& module, const Mesh& mesh) {
  for (const Instruction* instruction : IslandsIn(module)) {
    const Rule rule = RuleFor(*instruction);
    // An op without manual axes is rejected for other reasons.
    if (rule.manual_axes.empty() || !ManualStrategies(rule, mesh).empty()) {
      continue;
    }
    const std::string needed = IslandOf(*instruction)->mesh.ToString();
    return absl::InvalidArgumentError(absl::StrCat(
        RegionName(*instruction), " needs axes ", needed, ", which the mesh ",
        mesh.ToString(), " does not have; give --mesh ", needed));
  }
  return absl::OkStatus();
}

std::string RegionName(const Instruction& instruction) {
  const std::string& name = instruction.metadata.op_name;
  return absl::StrCat("shard_map region ",
                      name.empty() ? instruction.name : name);
}

}  // namespace meshwright
