// The number PJRT has for a BufferType.
#ifndef MESHWRIGHT_ENGINE_PJRT_BUFFER_TYPE_H_
#define MESHWRIGHT_ENGINE_PJRT_BUFFER_TYPE_H_

#include "meshwright/engine/buffer_type.h"
#include "meshwright/engine/pjrt_api.h"

namespace meshwright {

// PJRT_Buffer_Type_INVALID for kInvalid and unknown numbers.
PJRT_Buffer_Type ToPjrt(BufferType type);

}  // namespace meshwright

#endif  // MESHWRIGHT_ENGINE_PJRT_BUFFER_TYPE_H_
