#include "meshwright/rules/families.h"

namespace meshwright {

std::optional<Rule> RngBitGeneratorFactors(const Instruction&) {
  return std::nullopt;
}
LocalValues LowerRngBitGenerator(const LocalOp& op, LocalBuilder& builder) {
  return LowerUnchanged(op, builder);
}

}  // namespace meshwright
