#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/engine/cuda_wheels.h"
#include "meshwright/engine/ffi_library.h"
#include "meshwright/engine/pjrt_api.h"
#include "meshwright/engine/pjrt_client.h"
#include "meshwright/engine/pjrt_ffi.h"
#include "meshwright/engine/plugin.h"
#include "meshwright/engine/xnn_fusions.h"

namespace meshwright {
namespace {

bool IsCpu(const PluginFile& file) { return file.name == "cpu"; }

// Whether this is the CPU plug-in with which our flags and options were tested.
// An option that a version does not know is an error, or ends the process.
bool IsTriedCpu(const PluginFile& file, const PjrtApi& api) {
  return IsCpu(file) && api.version() == "0.81";
}
bool IsCuda(const PluginFile& file) {
  return absl::StartsWith(file.name, "cuda");
}

std::string Describe(const PluginFile& file) {
  return absl::StrCat("plug-in ", file.name, " (", file.path, ")");
}

// As XLA names the platform of FFI handlers.
absl::string_view FfiPlatform(const PluginFile& file) {
  if (IsCpu(file)) return "Host";
  return IsCuda(file) ? "CUDA" : absl::string_view(file.name);
}

absl::StatusOr<const PJRT_Api*> OpenLibrary(const PluginFile& file) {
  std::error_code ignored;
  if (!std::filesystem::exists(file.path, ignored)) {
    return absl::NotFoundError("no such file");
  }
  // Errors are returned as a Status; at 3, XLA logs only what ends the process.
  setenv("TF_CPP_MIN_LOG_LEVEL", "3", /*overwrite=*/0);
  if (IsCuda(file)) {
    // The plug-in finds them by name once they are loaded. If loading fails
    // here, it fails again, with a message, if the plug-in really needs the
    // library.
    for (const std::string& library : FindCudaLibraries(file.path)) {
      dlopen(library.c_str(), RTLD_LAZY | RTLD_LOCAL);
    }
  }
  void* library = dlopen(file.path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = dlerror();
    return absl::FailedPreconditionError(absl::StrCat(
        "cannot be loaded: ", reason == nullptr ? "unknown reason" : reason));
  }
  using GetPjrtApi = const PJRT_Api* (*)();
  const auto get = reinterpret_cast<GetPjrtApi>(dlsym(library, "GetPjrtApi"));
  if (get == nullptr) {
    dlclose(library);
    return absl::InvalidArgumentError("is a library without GetPjrtApi");
  }
  const PJRT_Api* table = get();
  if (table == nullptr) {
    return absl::FailedPreconditionError("gives no function table");
  }
  return table;
}

absl::Status CheckVersion(const PJRT_Api& table) {
  // All functions that the engine cannot do without come before this one.
  constexpr size_t kNeeded =
      PJRT_STRUCT_SIZE(PJRT_Api, PJRT_Executable_OutputDimensions);
  if (table.struct_size >= kNeeded &&
      table.pjrt_api_version.major_version == PJRT_API_MAJOR) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat("speaks PJRT ", table.pjrt_api_version.major_version, ".",
                   table.pjrt_api_version.minor_version, ", Meshwright ",
                   PJRT_API_MAJOR, ".", PJRT_API_MINOR));
}

// Gives many virtual devices on few cores more time to meet in a collective
// than XLA's 60 seconds, after which it ends the process. XLA reads XLA_FLAGS
// when a plug-in's first client opens, and these limits cannot be set in any
// other way. It ends the process if a flag is unknown, hence the check of the
// version and the cleanup.
class LongerCollectives {
 public:
  explicit LongerCollectives(const PluginFile& file, const PjrtApi& api) {
    const char* flags = std::getenv("XLA_FLAGS");
    if (flags != nullptr) before_ = flags;
    active_ = IsTriedCpu(file, api) &&
              !absl::StrContains(before_, "--xla_cpu_collective_call_");
    if (!active_) return;
    const std::string longer = absl::StrCat(
        before_, " --xla_cpu_collective_call_warn_stuck_timeout_seconds=120",
        " --xla_cpu_collective_call_terminate_timeout_seconds=600");
    setenv("XLA_FLAGS", longer.c_str(), /*overwrite=*/1);
  }
  ~LongerCollectives() {
    if (!active_) return;
    if (before_.empty()) {
      unsetenv("XLA_FLAGS");
    } else {
      setenv("XLA_FLAGS", before_.c_str(), /*overwrite=*/1);
    }
  }
  LongerCollectives(const LongerCollectives&) = delete;
  LongerCollectives& operator=(const LongerCollectives&) = delete;

 private:
  std::string before_;
  bool active_ = false;
};

absl::Status Initialize(const PjrtApi& api) {
  auto args = NewPjrtArgs<PJRT_Plugin_Initialize_Args>();
  return api.Call(MW_PJRT(PJRT_Plugin_Initialize), args);
}

}  // namespace

absl::StatusOr<const Plugin*> Plugin::Load(const PluginFile& file) {
  static auto& mutex = *new std::mutex;
  static auto& loaded = *new std::map<std::string, std::unique_ptr<Plugin>>();
  const std::lock_guard lock(mutex);
  std::error_code ignored;
  const auto real = std::filesystem::weakly_canonical(file.path, ignored);
  std::unique_ptr<Plugin>& plugin = loaded[real.native()];
  if (plugin != nullptr) return plugin.get();

  const auto table = OpenLibrary(file);
  if (!table.ok()) return Annotate(table.status(), Describe(file));
  if (absl::Status status = CheckVersion(**table); !status.ok()) {
    return Annotate(status, Describe(file));
  }
  auto api = std::make_unique<PjrtApi>(*table);
  if (absl::Status status = Initialize(*api); !status.ok()) {
    return Annotate(status, Describe(file));
  }
  for (const FfiTarget& one : LoadedFfiTargets()) {
    MW_RETURN_IF_ERROR(
        Annotate(meshwright::RegisterFfiHandler(*api, one.target,
                                                FfiPlatform(file), one.handler),
                 absl::StrCat(Describe(file), ": kernel of ", one.target)));
  }
  plugin.reset(new Plugin(file, api.release()));
  return plugin.get();
}

std::string Plugin::api_version() const { return api_->version(); }

absl::StatusOr<std::unique_ptr<Client>> Plugin::CreateClient(
    const ClientOptions& options) const {
  OptionMap values = options.values;
  OptionMap xla_defaults;
  if (IsCpu(file_)) {
    if (options.cpu_devices < 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          "cpu_devices must be at least 1, got ", options.cpu_devices));
    }
    // The plug-in would throw through the C API if the value had another type.
    if (!values.emplace("cpu_device_count", int64_t{options.cpu_devices})
             .second) {
      return absl::InvalidArgumentError(
          "cpu_device_count is not an option of its own; set cpu_devices");
    }
  }
  if (IsTriedCpu(file_, *api_)) {
    // Reductions and products by XNNPACK, unless the user chooses; see
    // docs/design/0002.
    const char* flags = std::getenv("XLA_FLAGS");
    if (flags == nullptr || !absl::StrContains(flags, kXnnFusionType)) {
      xla_defaults[kXnnFusionType] = std::string("LIBRARY_FUSION_TYPE_REDUCE");
    }
    // The first pass drops optimization barriers, after which the ops that they
    // separate would be merged: no values would be rematerialised. The second
    // makes one kernel of a loop over few bytes, which cannot contain such
    // reductions.
    xla_defaults["xla_disable_hlo_passes"] =
        std::string("cse_barrier_expander,small-while-loop-hoisting");
  }
  if (IsCuda(file_)) {
    const std::string folder = FindCudaDataFolder(file_.path);
    if (!folder.empty()) xla_defaults["xla_gpu_cuda_data_dir"] = folder;
  }
  if (options.team.has_value()) {
    if (!IsCuda(file_)) {
      return absl::UnimplementedError(absl::StrCat(
          Describe(file_), " has no collectives between processes"));
    }
    values["node_id"] = int64_t{options.team->process};
    values["num_nodes"] = int64_t{options.team->processes};
    // Otherwise, compiling would wait for all processes, also for those that do
    // not run the program or have it in their cache.
    xla_defaults["xla_gpu_shard_autotuning"] = false;
  }
  // Other clients wait until the first one has read its flags.
  std::unique_lock lock(first_client_);
  std::optional<LongerCollectives> flags;
  if (!has_opened_) {
    flags.emplace(file_, *api_);
  } else {
    lock.unlock();
  }
  auto client =
      PjrtClient::Create(api_, values, std::move(xla_defaults), options.team);
  if (!client.ok()) return Annotate(client.status(), Describe(file_));
  if (lock.owns_lock()) has_opened_ = true;
  return client;
}

absl::Status Plugin::RegisterFfiHandler(absl::string_view target,
                                        absl::string_view platform,
                                        FfiHandler* handler) const {
  return Annotate(
      meshwright::RegisterFfiHandler(*api_, target, platform, handler),
      absl::StrCat(Describe(file_), ": FFI handler ", target));
}

}  // namespace meshwright
