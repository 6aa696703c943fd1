#include "meshwright/rules/families.h"

namespace meshwright {

std::optional<Rule> SliceFactors(const Instruction&) { return std::nullopt; }
LocalValues LowerSlice(const LocalOp& op, LocalBuilder& builder) {
  return LowerUnchanged(op, builder);
}
std::optional<Rule> PadFactors(const Instruction&) { return std::nullopt; }
LocalValues LowerPad(const LocalOp& op, LocalBuilder& builder) {
  return LowerUnchanged(op, builder);
}
std::optional<Rule> ConcatenateFactors(const Instruction&) {
  return std::nullopt;
}
LocalValues LowerConcatenate(const LocalOp& op, LocalBuilder& builder) {
  return LowerUnchanged(op, builder);
}
std::optional<Rule> ReverseFactors(const Instruction&) { return std::nullopt; }
LocalValues LowerReverse(const LocalOp& op, LocalBuilder& builder) {
  return LowerUnchanged(op, builder);
}

}  // namespace meshwright
