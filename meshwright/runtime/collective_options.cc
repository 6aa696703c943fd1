#include "meshwright/runtime/collective_options.h"

#include <cstdint>

namespace meshwright {

OptionMap CollectivesAsWritten(absl::string_view platform) {
  if (platform == "cpu") {
    return {{"xla_disable_hlo_passes", "cpu-all-reduce-combiner"}};
  }
  if (platform == "cuda" || platform == "rocm" || platform == "gpu") {
    return {{"xla_gpu_all_reduce_combine_threshold_bytes", int64_t{0}},
            {"xla_gpu_all_gather_combine_threshold_bytes", int64_t{0}},
            {"xla_gpu_reduce_scatter_combine_threshold_bytes", int64_t{0}}};
  }
  return {};
}

bool CollectivesCrossProcesses(absl::string_view platform) {
  return platform == "cuda";
}

}  // namespace meshwright
