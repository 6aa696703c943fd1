// Whether a mesh has the axes that the islands of a step (rules/island.h) need.
#ifndef MESHWRIGHT_ANNOTATIONS_ISLAND_FIT_H_
#define MESHWRIGHT_ANNOTATIONS_ISLAND_FIT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "meshwright/hlo/module.h"
#include "meshwright/mesh/mesh.h"

namespace meshwright {

// The islands of all computations.
std::vector<const Instruction*> IslandsIn(const Module& module);

// Their own meshes, each once.
std::vector<Mesh> IslandMeshes(const Module& module);

// kInvalidArgument, naming the island and the axes that it needs, if `mesh`
// does not have them.
absl::Status CheckIslands(const Module& module, const Mesh& mesh);

// "shard_map region jit(step)/jvp(mlp)/shard_map"
std::string RegionName(const Instruction& instruction);

}  // namespace meshwright

#endif  // MESHWRIGHT_ANNOTATIONS_ISLAND_FIT_H_
