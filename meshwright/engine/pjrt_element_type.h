// The number PJRT has for an element type; it is not XLA's.
#ifndef MESHWRIGHT_ENGINE_PJRT_ELEMENT_TYPE_H_
#define MESHWRIGHT_ENGINE_PJRT_ELEMENT_TYPE_H_

#include "meshwright/engine/buffer_shape.h"
#include "meshwright/engine/pjrt_api.h"

namespace meshwright {

// PJRT_Buffer_Type_INVALID for types that PJRT has not.
PJRT_Buffer_Type ToPjrt(ElementType type);

}  // namespace meshwright

#endif  // MESHWRIGHT_ENGINE_PJRT_ELEMENT_TYPE_H_
