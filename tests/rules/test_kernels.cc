#include "tests/rules/test_kernels.h"

#include "meshwright/base/status_macros.h"
#include "tests/rules/letter_kernel.h"

namespace meshwright {

absl::Status RegisterTestKernels(const Plugin& plugin) {
  return plugin.RegisterFfiHandler(kLetterKernel, "Host",
                                   &FfiHandlerOf<RunLetterKernel>);
}

}  // namespace meshwright
