// A client of one platform: its devices, transfers to them, and compilation.
//
//   MW_ASSIGN_OR_RETURN(const PluginFile file, FindPlugin("cpu"));
//   MW_ASSIGN_OR_RETURN(const Plugin* plugin, Plugin::Load(file));
//   MW_ASSIGN_OR_RETURN(auto client, plugin->CreateClient({.cpu_devices = 8}));
//   MW_ASSIGN_OR_RETURN(BufferPtr x, client->FromHost(
//       {.bytes = AsBytes(values), .shape = {ElementType::kF32, {2, 3}}},
//       *client->devices()[0]));
//
// The underlying client lives until this object and all its buffers,
// executables and events are destroyed, in any order. Thread-safe.
#ifndef MESHWRIGHT_ENGINE_CLIENT_H_
#define MESHWRIGHT_ENGINE_CLIENT_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "meshwright/engine/buffer.h"
#include "meshwright/engine/buffer_shape.h"
#include "meshwright/engine/device.h"
#include "meshwright/engine/executable.h"
#include "meshwright/engine/program.h"

namespace meshwright {

using OptionValue = std::variant<bool, int64_t, double, std::string>;
using OptionMap = std::map<std::string, OptionValue>;

struct CompileOptions {
  int num_replicas = 1;
  int num_partitions = 1;  // Above 1, XLA's own SPMD partitioner runs.

  // Device id of replica r, partition p at [r * num_partitions + p]; empty
  // means 0, 1, 2, ...
  std::vector<int> device_ids = {};

  // Interprets shardings as Shardy's instead of GSPMD's.
  bool use_shardy = false;

  // Values for fields of XLA's DebugOptions, by field name, for instance
  // {"xla_backend_optimization_level", int64_t{0}}.
  OptionMap xla_overrides = {};
};

// A dense row-major array in host memory. Types narrower than a byte use one
// byte per element.
struct HostArray {
  absl::Span<const std::byte> bytes = {};
  BufferShape shape = {};

  // If null, `bytes` need only stay valid during the call, which costs a copy.
  // Otherwise it keeps `bytes` valid and unchanged until released, which may
  // happen on a thread of the platform, as late as the buffer's deletion. The
  // CPU may then use `bytes` in place if they are aligned to 64. Donating such
  // a buffer is safe: the host's memory is never written.
  std::shared_ptr<const void> owner = nullptr;
};

class Client {
 public:
  Client() = default;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  virtual ~Client() = default;

  virtual const std::string& platform_name() const = 0;
  virtual const std::string& platform_version() const = 0;

  // Addressable devices: those of this process.
  virtual absl::Span<const Device* const> devices() const = 0;

  // All devices, including those of other processes (process_team.h), by id.
  virtual absl::Span<const DevicePlace> all_devices() const = 0;

  virtual absl::StatusOr<BufferPtr> FromHost(const HostArray& array,
                                             const Device& device) = 0;

  virtual absl::StatusOr<std::unique_ptr<Executable>> Compile(
      const Program& program, const CompileOptions& options) = 0;

  // Loads the result of Executable::Serialize(), given the same options, the
  // same version of the same plug-in, and an equal processor. kUnimplemented if
  // the platform does not support it.
  virtual absl::StatusOr<std::unique_ptr<Executable>> Load(
      const std::string& serialized, const CompileOptions& options) = 0;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_ENGINE_CLIENT_H_
