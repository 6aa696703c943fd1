#include "meshwright/rules/families.h"

namespace meshwright {

std::optional<Rule> ScatterFactors(const Instruction&) { return std::nullopt; }
LocalValues LowerScatter(const LocalOp& op, LocalBuilder& builder) {
  return LowerUnchanged(op, builder);
}

}  // namespace meshwright
