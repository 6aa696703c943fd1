// An island: a shard_map region of a module (Shardy's manual computation) as
// one operation.
//
//   y = f32[8,16] custom-call(x, w), custom_call_target="mw.island",
//       called_computations={body},
//       backend_config="data=2,model=4: [data,-], [-,model] -> [data,-]"
//
// Outside of it, arrays are global and sharded by the planner. Its body is
// written for one device of its own mesh: on local shapes, with collectives and
// partition-id that number devices in the order of that mesh. A plan may only
// choose which axes of its mesh correspond to those of the island; along all
// other axes the body runs replicated.
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
  Mesh mesh;  // With its devices in order.
  // By operand, and by leaf of the result; even, on `mesh`.
  std::vector<Sharding> operands;
  std::vector<Sharding> results;
};

bool IsIsland(const Instruction& instruction);

// Collectives that its body may contain.
bool IsCollectiveOfIslands(Opcode opcode);

// In the form of backend_config.
std::string ToString(const Island& island);
// Parses an instruction for which IsIsland holds; kInvalidArgument if the
// shardings do not fit its shapes or those of its body.
absl::StatusOr<Island> IslandOf(const Instruction& instruction);

// The strategies that a rule with manual axes has on `mesh`; none if the mesh
// does not have the island's axes. Axes of equal name and size correspond; the
// remaining ones are matched by size, to whole axes if possible. Deterministic.
std::vector<Strategy> ManualStrategies(const Rule& rule, const Mesh& mesh);

}  // namespace meshwright

#endif  // MESHWRIGHT_RULES_ISLAND_H_
