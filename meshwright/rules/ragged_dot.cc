#include "meshwright/rules/families.h"

namespace meshwright {

std::optional<Rule> RaggedDotFactors(const Instruction&) {
  return std::nullopt;
}
LocalValues LowerRaggedDot(const LocalOp& op, LocalBuilder& builder) {
  return LowerUnchanged(op, builder);
}

}  // namespace meshwright
