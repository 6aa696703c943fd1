// A user's kernel library, with XLA's headers alone: the kernels of
// kernel_step.py.
#include <cmath>
#include <cstdint>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;
using Array = ffi::Buffer<ffi::F32>;
using Result = ffi::Result<Array>;
using Workspace = ffi::Result<ffi::Buffer<ffi::U8>>;

namespace {

float InverseOf(const float* row, int64_t size) {
  float squares = 0;
  for (int64_t j = 0; j < size; ++j) squares += row[j] * row[j];
  return 1 / std::sqrt(squares / static_cast<float>(size) + 1e-6f);
}

ffi::Error Norm(Array x, Array scale, Result y, Result inverses, Workspace) {
  const int64_t size = scale.element_count();
  for (int64_t i = 0; i < x.dimensions()[0]; ++i) {
    const float* row = x.typed_data() + i * size;
    const float inverse = InverseOf(row, size);
    for (int64_t j = 0; j < size; ++j) {
      y->typed_data()[i * size + j] = row[j] * inverse * scale.typed_data()[j];
    }
    inverses->typed_data()[i] = inverse;
  }
  return ffi::Error::Success();
}

ffi::Error NormGradient(Array x, Array scale, Array dy, Result dx,
                        Result dscale, Workspace) {
  const int64_t size = scale.element_count();
  for (int64_t j = 0; j < size; ++j) dscale->typed_data()[j] = 0;
  for (int64_t i = 0; i < x.dimensions()[0]; ++i) {
    const float* row = x.typed_data() + i * size;
    const float* gradient = dy.typed_data() + i * size;
    const float inverse = InverseOf(row, size);
    float inner = 0;
    for (int64_t j = 0; j < size; ++j) {
      const float normal = row[j] * inverse;
      dscale->typed_data()[j] += gradient[j] * normal;
      inner += gradient[j] * scale.typed_data()[j] * normal;
    }
    inner /= static_cast<float>(size);
    for (int64_t j = 0; j < size; ++j) {
      dx->typed_data()[i * size + j] =
          inverse *
          (gradient[j] * scale.typed_data()[j] - row[j] * inverse * inner);
    }
  }
  return ffi::Error::Success();
}

}  // namespace

XLA_FFI_DEFINE_HANDLER_SYMBOL(RmsNorm, Norm,
                              ffi::Ffi::Bind()
                                  .Arg<Array>()
                                  .Arg<Array>()
                                  .Ret<Array>()
                                  .Ret<Array>()
                                  .Ret<ffi::Buffer<ffi::U8>>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(norm_grad, NormGradient,
                              ffi::Ffi::Bind()
                                  .Arg<Array>()
                                  .Arg<Array>()
                                  .Arg<Array>()
                                  .Ret<Array>()
                                  .Ret<Array>()
                                  .Ret<ffi::Buffer<ffi::U8>>());
