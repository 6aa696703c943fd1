#include "meshwright/expand/row_major.h"

#include <cstdint>
#include <utility>

namespace meshwright {

constexpr char kLayoutConstraint[] = "LayoutConstraint";

Instruction* KeepRowMajor(Instruction* value, LocalBuilder& builder) {
  Shape shape =
      Shape::Array(value->shape.element_type, value->shape.dimensions);
  shape.layout.emplace();
  for (int64_t i = shape.rank(); i-- > 0;) {
    shape.layout->minor_to_major.push_back(i);
  }
  Attributes attributes;
  attributes.custom_call_target = kLayoutConstraint;
  attributes.custom_call_api_version = 1;
  attributes.constrain_layout = true;
  attributes.operand_shapes_with_layout = {shape};
  return builder.Add(Opcode::kCustomCall, std::move(shape), {value},
                     std::move(attributes));
}

bool IsKeptRowMajor(const Instruction& value) {
  return value.opcode == Opcode::kCustomCall &&
         value.attributes->custom_call_target == kLayoutConstraint;
}

}  // namespace meshwright
