#include "tests/rules/test_kernels.h"

#include "meshwright/base/status_macros.h"
#include "tests/rules/letter_kernel.h"
#include "tests/rules/norm_kernels.h"

namespace meshwright {

absl::Status RegisterTestKernels(const Plugin& plugin) {
  const auto add = [&](const char* target, FfiHandler* handler) {
    return plugin.RegisterFfiHandler(target, "Host", handler);
  };
  MW_RETURN_IF_ERROR(add(kLetterKernel, &FfiHandlerOf<RunLetterKernel>));
  MW_RETURN_IF_ERROR(add(kNorm, &FfiHandlerOf<RunNorm>));
  MW_RETURN_IF_ERROR(add(kNormGradient, &FfiHandlerOf<RunNormGradient>));
  MW_RETURN_IF_ERROR(add(kDropout, &FfiHandlerOf<RunDropout>));
  return add(kSortRows, &FfiHandlerOf<RunSortRows>);
}

}  // namespace meshwright
