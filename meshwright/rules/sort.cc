#include "meshwright/rules/families.h"

namespace meshwright {

std::optional<Rule> SortFactors(const Instruction&) { return std::nullopt; }
std::optional<Rule> TopKFactors(const Instruction&) { return std::nullopt; }
LocalValues LowerTopK(const LocalOp& op, LocalBuilder& builder) {
  return LowerUnchanged(op, builder);
}

}  // namespace meshwright
