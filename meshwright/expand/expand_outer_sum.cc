#include <cstdint>
#include <utility>

#include "absl/algorithm/container.h"
#include "meshwright/expand/expansions.h"

namespace meshwright {
namespace {

constexpr char kTarget[] = "LayoutConstraint";

// From as many elements on XLA makes rows of what is reduced.
constexpr int64_t kRow = 32;

}  // namespace

bool ReducesOuterDimensions(const Instruction& instruction) {
  if (instruction.opcode != Opcode::kReduce ||
      instruction.operands.size() != 2 ||
      instruction.operands[0]->opcode == Opcode::kParameter ||
      instruction.operands[0]->attributes->custom_call_target == kTarget) {
    return false;
  }
  const Shape& operand = instruction.operand_shape(0);
  int64_t reduced = 1;
  int kept = 0;
  bool outer = false;  // A dimension that is kept is further in.
  for (int64_t i = 0; i < operand.rank(); ++i) {
    const int64_t size = operand.dimensions[i];
    if (size == 1) continue;
    if (absl::c_linear_search(instruction.attributes->dimensions, i)) {
      reduced *= size;
    } else {
      ++kept;
      outer = outer || reduced > 1;
    }
  }
  return outer && kept >= 2 && reduced >= kRow;
}

absl::StatusOr<Instruction*> ExpandOuterReduction(
    const Instruction& instruction, LocalBuilder& builder) {
  Instruction* value = instruction.operands[0];
  Shape shape =
      Shape::Array(value->shape.element_type, value->shape.dimensions);
  shape.layout.emplace();
  for (int64_t i = shape.rank(); i-- > 0;) {
    shape.layout->minor_to_major.push_back(i);
  }
  Attributes attributes;
  attributes.custom_call_target = kTarget;
  attributes.custom_call_api_version = 1;
  attributes.constrain_layout = true;
  attributes.operand_shapes_with_layout = {shape};
  Instruction* held = builder.Add(Opcode::kCustomCall, std::move(shape),
                                  {value}, std::move(attributes));
  return builder.Clone(instruction, instruction.shape,
                       {held, instruction.operands[1]});
}

}  // namespace meshwright
