// The element type in which a collective between processes sends its values.
//
//   WireType(ElementType::kS4, /*reduces=*/true);          // s8
//   WireType(ElementType::kF6E2M3FN, /*reduces=*/false);   // f8e4m3fn
//
// Compilers pack types narrower than a byte, or not, so such values are
// converted before the call and back after it, and take a byte each on the way.
// Sums of integers wrap alike in the wider type; those of floats are rounded
// once.
#ifndef MESHWRIGHT_CROSSING_WIRE_TYPE_H_
#define MESHWRIGHT_CROSSING_WIRE_TYPE_H_

#include "meshwright/base/element_type.h"
#include "meshwright/hlo/shape.h"

namespace meshwright {

// Holds every value of `type`, which is itself where nothing is to convert.
// Requires: IsArrayType(type).
ElementType WireType(ElementType type, bool reduces);

// The shape, of an array or a tuple of arrays, with these types.
Shape WireShape(Shape shape, bool reduces);

}  // namespace meshwright

#endif  // MESHWRIGHT_CROSSING_WIRE_TYPE_H_
