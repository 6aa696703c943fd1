#include "meshwright/analysis/direction.h"

namespace meshwright {

std::vector<bool> NeededBy(const Computation& computation,
                           absl::Span<const int64_t> outputs) {
  std::vector<bool> needed(computation.size());
  for (const int64_t output : outputs) {
    needed[computation.root()->operands[output]->id] = true;
  }
  for (int32_t id = computation.size(); id-- > 0;) {
    if (!needed[id]) continue;
    for (const Instruction* operand : computation.instruction(id)->operands) {
      needed[operand->id] = true;
    }
  }
  return needed;
}

}  // namespace meshwright
