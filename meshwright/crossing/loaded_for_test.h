// Test support: a program on the devices of a client of its own.
#ifndef MESHWRIGHT_CROSSING_LOADED_FOR_TEST_H_
#define MESHWRIGHT_CROSSING_LOADED_FOR_TEST_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/crossing/cross_call.h"
#include "meshwright/engine/cpu_plugin_for_test.h"
#include "meshwright/engine/plugin.h"
#include "meshwright/hlo/module.h"
#include "meshwright/hlo/read_module.h"
#include "meshwright/hlo/write_module.h"

namespace meshwright {

// The bytes of arrays, by device and then by parameter or output.
using DeviceArrays = std::vector<std::vector<std::string>>;

// The tags of calls in the order in which a program makes them; those of loops
// and of all branches once.
inline std::vector<std::string> CallOrder(const Computation& computation) {
  std::vector<std::string> order;
  for (const auto& instruction : computation.instructions()) {
    if (instruction->attributes->custom_call_target == kCrossCallTarget) {
      const std::string& config = instruction->attributes->backend_config;
      order.push_back(config.substr(config.find("tag = "), 10));
    }
    for (const Computation* called : instruction->called) {
      const std::vector<std::string> more = CallOrder(*called);
      order.insert(order.end(), more.begin(), more.end());
    }
  }
  return order;
}

// A compiled program with the client that it runs on.
class LoadedForTest {
 public:
  static absl::StatusOr<LoadedForTest> Load(const Module& module, int devices) {
    LoadedForTest loaded;
    MW_ASSIGN_OR_RETURN(loaded.client_,
                        CpuPlugin().CreateClient({.cpu_devices = devices}));
    MW_ASSIGN_OR_RETURN(std::string code, WriteModule(module));
    // As written, also roundings, and compiled quickly.
    MW_ASSIGN_OR_RETURN(
        loaded.executable_,
        loaded.client_->Compile(
            {"hlo", std::move(code)},
            {.num_replicas = devices,
             .xla_overrides = {
                 {"xla_disable_hlo_passes", "cpu-all-reduce-combiner"},
                 {"xla_allow_excess_precision", false},
                 {"xla_backend_optimization_level", int64_t{0}},
                 {"xla_cpu_use_fusion_emitters", false}}}));
    // The compiler keeps the order, which all processes depend on.
    MW_ASSIGN_OR_RETURN(const Program optimized,
                        loaded.executable_->OptimizedProgram());
    MW_ASSIGN_OR_RETURN(const Module compiled, ReadModule(optimized.code));
    EXPECT_TRUE(compiled.is_scheduled);
    EXPECT_EQ(CallOrder(*compiled.entry()), CallOrder(*module.entry()));
    return loaded;
  }

  Executable& executable() { return *executable_; }

  // A run that may not be over.
  struct Started {
    std::vector<BufferPtr> inputs;
    Execution run;

    absl::StatusOr<DeviceArrays> Finish() {
      MW_RETURN_IF_ERROR(AwaitAll(run.done));
      DeviceArrays outputs(run.outputs.size());
      for (size_t device = 0; device < outputs.size(); ++device) {
        for (const BufferPtr& buffer : run.outputs[device]) {
          std::string& bytes = outputs[device].emplace_back();
          bytes.resize(buffer->shape().host_bytes());
          MW_RETURN_IF_ERROR(buffer->ReadToHost(
              {reinterpret_cast<std::byte*>(bytes.data()), bytes.size()}));
        }
      }
      return outputs;
    }
  };

  absl::StatusOr<Started> Start(const DeviceArrays& inputs) {
    Started started;
    std::vector<std::vector<Buffer*>> arguments(inputs.size());
    const auto& shapes = executable_->signature().parameters;
    for (size_t device = 0; device < inputs.size(); ++device) {
      for (size_t p = 0; p < shapes.size(); ++p) {
        const std::string& bytes = inputs[device][p];
        MW_ASSIGN_OR_RETURN(
            started.inputs.emplace_back(),
            client_->FromHost(
                {.bytes = {reinterpret_cast<const std::byte*>(bytes.data()),
                           bytes.size()},
                 .shape = shapes[p]},
                *client_->devices()[device]));
        arguments[device].push_back(started.inputs.back().get());
      }
    }
    const std::vector<absl::Span<Buffer* const>> spans(arguments.begin(),
                                                       arguments.end());
    MW_ASSIGN_OR_RETURN(started.run, executable_->Execute(spans));
    return started;
  }

  absl::StatusOr<DeviceArrays> Run(const DeviceArrays& inputs) {
    MW_ASSIGN_OR_RETURN(Started started, Start(inputs));
    return started.Finish();
  }

 private:
  std::unique_ptr<Client> client_;
  std::unique_ptr<Executable> executable_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_CROSSING_LOADED_FOR_TEST_H_
