// A shard_map region of a module, as one operation: an island.
//
//   y = f32[8,16] custom-call(x, w), custom_call_target="mw.island",
//       called_computations={body},
//       backend_config="data=2,model=4: [data,-], [-,model] -> [data,-]"
//
// Outside of it, arrays are whole and split by whoever plans. Its body is
// written for one device of its own mesh: on local shapes, with collectives and
// partition-id that count devices in the order of that mesh. A plan may only
// choose which axes of its mesh stand for those of the island; along all other
// axes the body runs on copies.
#ifndef MESHWRIGHT_RULES_ISLAND_H_
#define MESHWRIGHT_RULES_ISLAND_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/hlo/instruction.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/mesh/sharding.h"
#include "meshwright/rules/rule.h"

namespace meshwright {

inline constexpr char kIslandTarget[] = "mw.island";

struct Island {
  Mesh mesh;  // Devices in order.
  // By operand, and by leaf of the result; even, on `mesh`.
  std::vector<Sharding> operands;
  std::vector<Sharding> results;
};

bool IsIsland(const Instruction& instruction);

// What its body may communicate by.
bool IsCollectiveOfIslands(Opcode opcode);

// As in backend_config.
std::string ToString(const Island& island);
// What an instruction that IsIsland says of itself; kInvalidArgument if that
// does not fit its shapes or its body's.
absl::StatusOr<Island> IslandOf(const Instruction& instruction);

// The strategies that a rule with manual axes has on `mesh`; none if the mesh
// cannot stand for the island's. Axes of equal name and size stand for each
// other; what that leaves is matched by size, to whole axes if possible.
// Deterministic.
std::vector<Strategy> ManualStrategies(const Rule& rule, const Mesh& mesh);

}  // namespace meshwright

#endif  // MESHWRIGHT_RULES_ISLAND_H_
