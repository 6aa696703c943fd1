// NVIDIA's libraries as Python packages install them beside a CUDA plug-in:
//
//   site-packages/jax_plugins/xla_cuda13/xla_cuda_plugin.so
//   site-packages/nvidia/cu13/lib/libcudart.so.13      (CUDA 13)
//   site-packages/nvidia/cublas/lib/libcublas.so.12    (CUDA 12, one per part)
#ifndef MESHWRIGHT_ENGINE_CUDA_WHEELS_H_
#define MESHWRIGHT_ENGINE_CUDA_WHEELS_H_

#include <string>
#include <vector>

namespace meshwright {

// The libraries that the plug-in opens by bare name later, in loading order.
// Empty if there are no such packages; then the system's are used.
std::vector<std::string> FindCudaLibraries(const std::string& plugin_path);

// The folder for xla_gpu_cuda_data_dir, which contains ptxas and libdevice;
// empty if there is none.
std::string FindCudaDataFolder(const std::string& plugin_path);

}  // namespace meshwright

#endif  // MESHWRIGHT_ENGINE_CUDA_WHEELS_H_
