#include "meshwright/rules/families.h"

namespace meshwright {

std::optional<Rule> ConvolutionFactors(const Instruction&) {
  return std::nullopt;
}
LocalValues LowerConvolution(const LocalOp& op, LocalBuilder& builder) {
  return LowerUnchanged(op, builder);
}

}  // namespace meshwright
