#include "meshwright/crossing/wire_type.h"

namespace meshwright {

ElementType WireType(ElementType type, bool reduces) {
  // The only type of a byte that workers cannot combine. Its least value,
  // 2^-127, is a subnormal number of f32.
  if (type == ElementType::kF8E8M0FNU && reduces) return ElementType::kF64;
  if (BitWidth(type) >= 8) return type;
  if (IsSignedInteger(type)) return ElementType::kS8;
  if (IsUnsignedInteger(type)) return ElementType::kU8;
  return reduces ? ElementType::kF32 : ElementType::kF8E4M3FN;
}

Shape WireShape(Shape shape, bool reduces) {
  for (Shape& element : shape.tuple_shapes) {
    element = WireShape(element, reduces);
  }
  if (!shape.IsArray()) return shape;
  const ElementType type = WireType(shape.element_type, reduces);
  // The layout may say how narrow elements are packed.
  if (type != shape.element_type) shape.layout.reset();
  shape.element_type = type;
  return shape;
}

}  // namespace meshwright
