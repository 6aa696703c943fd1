// Test support: shapes.
#ifndef MESHWRIGHT_HLO_SHAPES_FOR_TEST_H_
#define MESHWRIGHT_HLO_SHAPES_FOR_TEST_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "meshwright/hlo/shape.h"

namespace meshwright {

inline const Shape kS32 = Shape::Scalar(ElementType::kS32);

inline Shape F32(std::vector<int64_t> dimensions) {
  return Shape::Array(ElementType::kF32, std::move(dimensions));
}

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_SHAPES_FOR_TEST_H_
