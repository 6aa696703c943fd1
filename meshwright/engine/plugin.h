// Shared libraries that implement the PJRT C API: finding and loading them.
//
//   for (const PluginFile& file : FindPlugins(PluginSearch::OfThisProcess()))
//     std::cout << file.name << " " << file.path << "\n";
//   // cpu /opt/mw/lib/xla_cpu_pjrt.so
//   // cuda13 /opt/mw/.venv/.../jax_plugins/xla_cuda13/xla_cuda_plugin.so
//
// A plug-in stays loaded until the process ends.
#ifndef MESHWRIGHT_ENGINE_PLUGIN_H_
#define MESHWRIGHT_ENGINE_PLUGIN_H_

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "meshwright/engine/client.h"
#include "meshwright/engine/ffi.h"
#include "meshwright/engine/process_team.h"

namespace meshwright {

class PjrtApi;

struct PluginFile {
  // "cpu", "cuda12", "cuda13", "tpu", or a name given by the user.
  std::string name;
  std::string path;
  bool is_named = false;  // By $MESHWRIGHT_PJRT_PLUGIN.

  bool operator==(const PluginFile&) const = default;
};

// Where to look, in this order. The first file for a name wins.
struct PluginSearch {
  // $MESHWRIGHT_PJRT_PLUGIN: "/path.so" or "name=/path.so", joined by ':'.
  std::string named;
  // As in LibrarySearch (base/library_search.h).
  std::vector<std::string> libraries;
  std::vector<std::string> packages;

  static PluginSearch OfThisProcess();
};

// Those named by the user first, in that order; then cpu, cuda (newest first)
// and tpu. Files that were named but do not exist are listed, too: loading them
// reports the error.
std::vector<PluginFile> FindPlugins(const PluginSearch& search);

// The first plug-in whose name starts with `name`, so that "cuda" finds
// "cuda13" and "" the first of all. kNotFound says where it looked.
absl::StatusOr<PluginFile> FindPlugin(absl::string_view name);

struct ClientOptions {
  // The number of virtual devices of the CPU plug-in; ignored by others.
  int cpu_devices = 1;

  // The processes that open their devices together, of which this is one;
  // absent: alone. CUDA only, kUnimplemented elsewhere. Opening then waits for
  // the others.
  std::optional<ProcessTeam> team = std::nullopt;

  // Passed on unchanged; a plug-in rejects names that it does not know. For
  // CUDA: "visible_devices", "memory_fraction", "preallocate", "allocator", ...
  OptionMap values = {};
};

class Plugin {
 public:
  // Loads and initialises the library, once. Silences its log
  // (TF_CPP_MIN_LOG_LEVEL=3) unless the user has set a level.
  static absl::StatusOr<const Plugin*> Load(const PluginFile& file);

  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;

  const PluginFile& file() const { return file_; }
  std::string api_version() const;  // For instance "0.81".

  // For the CPU, sets longer time limits for collectives through XLA_FLAGS,
  // unless the user has set some, while the first client is opened. Therefore
  // Load() and the first CreateClient() change the environment: call them
  // before starting threads that read it.
  absl::StatusOr<std::unique_ptr<Client>> CreateClient(
      const ClientOptions& options) const;

  // Makes `handler` (ffi.h) available to programs as `target` on devices of
  // `platform`, "Host" or "CUDA". kUnimplemented if the plug-in does not
  // support it. A handler made with headers newer than the plug-in is accepted
  // silently, but programs that call it do not compile ("No FFI handler
  // registered").
  absl::Status RegisterFfiHandler(absl::string_view target,
                                  absl::string_view platform,
                                  FfiHandler* handler) const;

 private:
  Plugin(PluginFile file, const PjrtApi* api) : file_(file), api_(api) {}

  PluginFile file_;
  const PjrtApi* api_;               // Lives as long as the process.
  mutable std::mutex first_client_;  // Held while it opens. Guards:
  mutable bool has_opened_ = false;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_ENGINE_PLUGIN_H_
