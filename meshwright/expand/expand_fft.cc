#include "meshwright/expand/expansions.h"
#include "meshwright/expand/row_major.h"

namespace meshwright {

absl::StatusOr<Instruction*> ExpandFft(const Instruction& instruction,
                                       LocalBuilder& builder) {
  const Shape shape = Shape::Array(instruction.shape.element_type,
                                   instruction.shape.dimensions);
  return KeepRowMajor(builder.Clone(instruction, shape, instruction.operands),
                      builder);
}

}  // namespace meshwright
