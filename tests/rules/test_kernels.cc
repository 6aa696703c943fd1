#include "tests/rules/test_kernels.h"

#include "meshwright/base/status_macros.h"
#include "tests/rules/engine_kernels.h"
#include "tests/rules/letter_kernel.h"
#include "tests/rules/norm_kernels.h"

namespace meshwright {

absl::Status RegisterTestKernels(const Plugin& plugin) {
  const auto add = [&](const char* target, FfiHandler* handler) {
    return plugin.RegisterFfiHandler(target, "Host", handler);
  };
  MW_RETURN_IF_ERROR(add(kLetterKernel, &FfiHandlerOf<RunLetterKernel>));
  MW_RETURN_IF_ERROR(add("te_norm_forward_ffi", &FfiHandlerOf<RunEngineNorm>));
  MW_RETURN_IF_ERROR(
      add("te_norm_backward_ffi", &FfiHandlerOf<RunEngineNormGradient>));
  MW_RETURN_IF_ERROR(add("te_act_lu_ffi", &FfiHandlerOf<RunEngineActivation>));
  MW_RETURN_IF_ERROR(add("te_dact_dbias_quantize_ffi",
                         &FfiHandlerOf<RunEngineActivationGradient>));
  MW_RETURN_IF_ERROR(add("te_gemm_ffi", &FfiHandlerOf<RunEngineGemm>));
  MW_RETURN_IF_ERROR(
      add("te_grouped_gemm_ffi", &FfiHandlerOf<RunEngineGroupedGemm>));
  MW_RETURN_IF_ERROR(add(kNorm, &FfiHandlerOf<RunNorm>));
  MW_RETURN_IF_ERROR(add(kNormGradient, &FfiHandlerOf<RunNormGradient>));
  MW_RETURN_IF_ERROR(add(kDropout, &FfiHandlerOf<RunDropout>));
  return add(kSortRows, &FfiHandlerOf<RunSortRows>);
}

}  // namespace meshwright
