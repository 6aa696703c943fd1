#include "meshwright/rules/families.h"

namespace meshwright {

std::optional<Rule> CustomCallFactors(const Instruction&) {
  return std::nullopt;
}
LocalValues LowerCustomCall(const LocalOp& op, LocalBuilder& builder) {
  return LowerUnchanged(op, builder);
}

}  // namespace meshwright
