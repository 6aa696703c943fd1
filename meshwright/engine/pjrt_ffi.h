// Registers FFI handlers (ffi.h) with a plug-in.
#ifndef MESHWRIGHT_ENGINE_PJRT_FFI_H_
#define MESHWRIGHT_ENGINE_PJRT_FFI_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "meshwright/engine/ffi.h"
#include "meshwright/engine/pjrt_api.h"

namespace meshwright {

// As Plugin::RegisterFfiHandler.
absl::Status RegisterFfiHandler(const PjrtApi& api, absl::string_view target,
                                absl::string_view platform,
                                FfiHandler* handler);

}  // namespace meshwright

#endif  // MESHWRIGHT_ENGINE_PJRT_FFI_H_
