// Shapes of arrays on devices.
//
//   const BufferShape shape{ElementType::kF32, {2, 3}};
//   shape.ToString();    // "f32[2,3]"
//   shape.host_bytes();  // 24
#ifndef MESHWRIGHT_ENGINE_BUFFER_SHAPE_H_
#define MESHWRIGHT_ENGINE_BUFFER_SHAPE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "meshwright/base/element_type.h"

namespace meshwright {

// Whether devices support arrays of this type: PJRT has no s1, u1 and f6.
bool IsBufferType(ElementType type);

struct BufferShape {
  ElementType type = ElementType::kInvalid;
  std::vector<int64_t> dimensions = {};

  // 1 for a scalar. Saturates at the largest int64_t, as does host_bytes().
  int64_t element_count() const;
  // Size of the array in host memory, dense and row-major.
  int64_t host_bytes() const;
  std::string ToString() const;

  bool operator==(const BufferShape&) const = default;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_ENGINE_BUFFER_SHAPE_H_
