// Kernels of users: handlers of XLA's typed FFI in shared libraries, as
// XLA_FFI_DEFINE_HANDLER_SYMBOL defines them.
//
//   LoadFfiLibrary("kernels.so:norm=RmsNorm,norm_grad");
//
// is for programs what in JAX
//
//   library = ctypes.cdll.LoadLibrary("kernels.so")
//   jax.ffi.register_ffi_target("norm", jax.ffi.pycapsule(library.RmsNorm))
//
// and the same for norm_grad, whose symbol has its name, are for jax.jit.
#ifndef MESHWRIGHT_ENGINE_FFI_LIBRARY_H_
#define MESHWRIGHT_ENGINE_FFI_LIBRARY_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "meshwright/engine/ffi.h"

namespace meshwright {

// LIBRARY:TARGET[=SYMBOL][,TARGET[=SYMBOL]...]. The library stays loaded as
// long as the process runs, and plug-ins that are loaded from then on
// (Plugin::Load) have its handlers for their devices. kInvalidArgument, in one
// line, for text of another form, a library that cannot be loaded, a symbol
// that it does not have and a target that has a handler already.
absl::Status LoadFfiLibrary(absl::string_view text);

struct FfiTarget {
  std::string target;
  FfiHandler* handler = nullptr;
};
// Of all libraries, in order.
std::vector<FfiTarget> LoadedFfiTargets();

}  // namespace meshwright

#endif  // MESHWRIGHT_ENGINE_FFI_LIBRARY_H_
