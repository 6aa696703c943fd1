#include "meshwright/rules/families.h"

namespace meshwright {

std::optional<Rule> DynamicSliceFactors(const Instruction&) {
  return std::nullopt;
}
LocalValues LowerDynamicSlice(const LocalOp& op, LocalBuilder& builder) {
  return LowerUnchanged(op, builder);
}
std::optional<Rule> DynamicUpdateSliceFactors(const Instruction&) {
  return std::nullopt;
}
LocalValues LowerDynamicUpdateSlice(const LocalOp& op, LocalBuilder& builder) {
  return LowerUnchanged(op, builder);
}

}  // namespace meshwright
