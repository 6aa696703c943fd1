#include "meshwright/rules/families.h"

namespace meshwright {

std::optional<Rule> ReduceWindowFactors(const Instruction&) {
  return std::nullopt;
}
LocalValues LowerReduceWindow(const LocalOp& op, LocalBuilder& builder) {
  return LowerUnchanged(op, builder);
}
std::optional<Rule> SelectAndScatterFactors(const Instruction&) {
  return std::nullopt;
}
LocalValues LowerSelectAndScatter(const LocalOp& op, LocalBuilder& builder) {
  return LowerUnchanged(op, builder);
}

}  // namespace meshwright
