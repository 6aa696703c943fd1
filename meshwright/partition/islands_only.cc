#include "meshwright/partition/islands_only.h"

#include <utility>

#include "meshwright/annotations/island_fit.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/partition/supported.h"
#include "meshwright/rules/island.h"

namespace meshwright {
namespace {

Mesh ChooseMesh(const Module& module, const Mesh& otherwise) {
  for (const Mesh& mesh : IslandMeshes(module)) {
    if (CheckIslands(module, mesh).ok()) return mesh;
  }
  return otherwise;
}

}  // namespace

absl::StatusOr<Partitioned> PartitionIslandsOnly(const Module& module,
                                                 const Mesh& otherwise) {
  const Mesh mesh = ChooseMesh(module, otherwise);
  const FlatGraph graph = Flatten(module);
  MW_RETURN_IF_ERROR(CheckSupported(graph));
  MW_RETURN_IF_ERROR(CheckIslands(module, mesh));
  std::vector<Rule> rules = RulesOf(graph);
  Assignment assignment;
  for (const Rule& rule : rules) {
    assignment.strategies.push_back(rule.manual_axes.empty()
                                        ? ReplicatedStrategy(rule)
                                        : ManualStrategies(rule, mesh)[0]);
  }
  assignment.rules = std::move(rules);
  Resharder resharder(&mesh, Prices());
  return PartitionAs(module, mesh, graph, assignment, resharder);
}

}  // namespace meshwright
