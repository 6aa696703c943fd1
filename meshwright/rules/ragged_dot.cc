// ragged-dot: every device computes all of it. Its dimension numbers are among
// the fields we carry along without reading.
#include "meshwright/rules/families.h"

namespace meshwright {

std::optional<Rule> RaggedDotFactors(const Instruction&) {
  return std::nullopt;
}

LocalValues LowerRaggedDot(const LocalOp& op, LocalBuilder& builder) {
  return LowerUnchanged(op, builder);
}

}  // namespace meshwright
