#include "meshwright/engine/cuda_wheels.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace meshwright {
namespace {

namespace fs = std::filesystem;

// In the order of the JAX plug-in's own loader: dependencies first.
constexpr const char* kLibraries[] = {
    "cudart", "nvrtc",    "nvJitLink", "cublasLt", "cublas",       "nccl",
    "cupti",  "cusparse", "cusolver",  "cufft",    "nvshmem_host", "cudnn",
};

std::vector<fs::path> SortedEntries(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code ignored;
  for (fs::directory_iterator it(folder, ignored), end; it != end;
       it.increment(ignored)) {
    entries.push_back(it->path());
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

// <packages>/jax_plugins/xla_cuda13/x.so -> <packages>/nvidia
fs::path NvidiaFolder(const std::string& plugin_path) {
  return fs::path(plugin_path).parent_path().parent_path().parent_path() /
         "nvidia";
}

}  // namespace

std::vector<std::string> FindCudaLibraries(const std::string& plugin_path) {
  std::vector<fs::path> files;
  for (const fs::path& part : SortedEntries(NvidiaFolder(plugin_path))) {
    const auto found = SortedEntries(part / "lib");
    files.insert(files.end(), found.begin(), found.end());
  }
  std::vector<std::string> libraries;
  for (const char* name : kLibraries) {
    const std::string prefix = absl::StrCat("lib", name, ".so.");
    for (const fs::path& file : files) {
      if (absl::StartsWith(file.filename().native(), prefix)) {
        libraries.push_back(file);
      }
    }
  }
  return libraries;
}

std::string FindCudaDataFolder(const std::string& plugin_path) {
  std::error_code ignored;
  for (const fs::path& part : SortedEntries(NvidiaFolder(plugin_path))) {
    if (fs::exists(part / "nvvm" / "libdevice", ignored) ||
        fs::exists(part / "bin" / "ptxas", ignored)) {
      return part;
    }
  }
  return "";
}

}  // namespace meshwright
