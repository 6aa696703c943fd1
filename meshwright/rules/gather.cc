#include "meshwright/rules/families.h"

namespace meshwright {

std::optional<Rule> GatherFactors(const Instruction&) { return std::nullopt; }
LocalValues LowerGather(const LocalOp& op, LocalBuilder& builder) {
  return LowerUnchanged(op, builder);
}

}  // namespace meshwright
