#include "tests/rules/device_run.h"

#include <string>
#include <utility>

#include "absl/types/span.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/engine/plugin.h"
#include "meshwright/expand/expand.h"
#include "meshwright/hlo/verify.h"
#include "tests/rules/host_values.h"
#include "tests/rules/test_kernels.h"

namespace meshwright {

absl::StatusOr<Client*> OracleClient() {
  static auto* const client = new absl::StatusOr<std::unique_ptr<Client>>([]() {
    const auto create = []() -> absl::StatusOr<std::unique_ptr<Client>> {
      MW_ASSIGN_OR_RETURN(const PluginFile file, FindPlugin("cpu"));
      MW_ASSIGN_OR_RETURN(const Plugin* plugin, Plugin::Load(file));
      MW_RETURN_IF_ERROR(RegisterTestKernels(*plugin));
      return plugin->CreateClient({.cpu_devices = kOracleDevices});
    };
    return create();
  }());
  MW_RETURN_IF_ERROR(client->status());
  return (*client)->get();
}

absl::StatusOr<std::unique_ptr<Executable>> CompileForDevices(
    const Module& module, int devices) {
  MW_ASSIGN_OR_RETURN(Client* const client, OracleClient());
  MW_ASSIGN_OR_RETURN(std::string code,
                      WriteModuleFor(client->platform_name(), module));
  CompileOptions options;
  options.num_replicas = devices;
  options.xla_overrides["xla_backend_optimization_level"] = int64_t{0};
  // Emitting every fusion through MLIR takes two thirds of the compilation.
  options.xla_overrides["xla_cpu_use_fusion_emitters"] = false;
  options.xla_overrides["xla_disable_hlo_passes"] = "cpu-all-reduce-combiner";
  return client->Compile({"hlo", std::move(code)}, options);
}

absl::StatusOr<BufferPtr> Upload(const Literal& value, const Device& device) {
  MW_ASSIGN_OR_RETURN(Client* const client, OracleClient());
  return client->FromHost(
      {.bytes = absl::MakeConstSpan(
           reinterpret_cast<const std::byte*>(value.data.data()),
           value.data.size()),
       .shape = {value.shape.element_type, value.shape.dimensions}},
      device);
}

absl::StatusOr<Literal> Download(const Buffer& buffer) {
  Literal value =
      Zeros(Shape::Array(buffer.shape().type, buffer.shape().dimensions));
  MW_RETURN_IF_ERROR(buffer.ReadToHost(absl::MakeSpan(
      reinterpret_cast<std::byte*>(value.data.data()), value.data.size())));
  return value;
}

absl::StatusOr<std::vector<std::vector<Literal>>> RunOnDevices(
    const Module& module, const std::vector<std::vector<Literal>>& arguments) {
  MW_RETURN_IF_ERROR(Verify(module));
  MW_ASSIGN_OR_RETURN(
      const auto executable,
      CompileForDevices(module, static_cast<int>(arguments.size())));
  std::vector<BufferPtr> owned;
  std::vector<std::vector<Buffer*>> buffers(arguments.size());
  for (size_t device = 0; device < arguments.size(); ++device) {
    for (const Literal& value : arguments[device]) {
      MW_ASSIGN_OR_RETURN(BufferPtr buffer,
                          Upload(value, *executable->devices()[device]));
      buffers[device].push_back(buffer.get());
      owned.push_back(std::move(buffer));
    }
  }
  const std::vector<absl::Span<Buffer* const>> spans(buffers.begin(),
                                                     buffers.end());
  MW_ASSIGN_OR_RETURN(const Execution execution, executable->Execute(spans));
  std::vector<std::vector<Literal>> outputs(arguments.size());
  for (size_t device = 0; device < arguments.size(); ++device) {
    for (const BufferPtr& buffer : execution.outputs[device]) {
      MW_ASSIGN_OR_RETURN(Literal value, Download(*buffer));
      outputs[device].push_back(std::move(value));
    }
  }
  return outputs;
}

}  // namespace meshwright
