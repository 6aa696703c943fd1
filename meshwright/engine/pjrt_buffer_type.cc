#include "meshwright/engine/pjrt_buffer_type.h"

namespace meshwright {

PJRT_Buffer_Type ToPjrt(BufferType type) {
  switch (type) {
    case BufferType::kInvalid:
      return PJRT_Buffer_Type_INVALID;
    case BufferType::kPred:
      return PJRT_Buffer_Type_PRED;
    case BufferType::kS2:
      return PJRT_Buffer_Type_S2;
    case BufferType::kS4:
      return PJRT_Buffer_Type_S4;
    case BufferType::kS8:
      return PJRT_Buffer_Type_S8;
    case BufferType::kS16:
      return PJRT_Buffer_Type_S16;
    case BufferType::kS32:
      return PJRT_Buffer_Type_S32;
    case BufferType::kS64:
      return PJRT_Buffer_Type_S64;
    case BufferType::kU2:
      return PJRT_Buffer_Type_U2;
    case BufferType::kU4:
      return PJRT_Buffer_Type_U4;
    case BufferType::kU8:
      return PJRT_Buffer_Type_U8;
    case BufferType::kU16:
      return PJRT_Buffer_Type_U16;
    case BufferType::kU32:
      return PJRT_Buffer_Type_U32;
    case BufferType::kU64:
      return PJRT_Buffer_Type_U64;
    case BufferType::kF4E2M1FN:
      return PJRT_Buffer_Type_F4E2M1FN;
    case BufferType::kF8E3M4:
      return PJRT_Buffer_Type_F8E3M4;
    case BufferType::kF8E4M3:
      return PJRT_Buffer_Type_F8E4M3;
    case BufferType::kF8E4M3FN:
      return PJRT_Buffer_Type_F8E4M3FN;
    case BufferType::kF8E4M3B11FNUZ:
      return PJRT_Buffer_Type_F8E4M3B11FNUZ;
    case BufferType::kF8E4M3FNUZ:
      return PJRT_Buffer_Type_F8E4M3FNUZ;
    case BufferType::kF8E5M2:
      return PJRT_Buffer_Type_F8E5M2;
    case BufferType::kF8E5M2FNUZ:
      return PJRT_Buffer_Type_F8E5M2FNUZ;
    case BufferType::kF8E8M0FNU:
      return PJRT_Buffer_Type_F8E8M0FNU;
    case BufferType::kF16:
      return PJRT_Buffer_Type_F16;
    case BufferType::kBF16:
      return PJRT_Buffer_Type_BF16;
    case BufferType::kF32:
      return PJRT_Buffer_Type_F32;
    case BufferType::kF64:
      return PJRT_Buffer_Type_F64;
    case BufferType::kC64:
      return PJRT_Buffer_Type_C64;
    case BufferType::kC128:
      return PJRT_Buffer_Type_C128;
    case BufferType::kToken:
      return PJRT_Buffer_Type_TOKEN;
  }
  return PJRT_Buffer_Type_INVALID;  // A number that came in by a cast.
}

}  // namespace meshwright
