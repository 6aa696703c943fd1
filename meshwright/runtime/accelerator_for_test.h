// A client on the fake engine whose every program is one step of the counter
// (counter_step_for_test.h) on a vector of one element.
#ifndef MESHWRIGHT_RUNTIME_ACCELERATOR_FOR_TEST_H_
#define MESHWRIGHT_RUNTIME_ACCELERATOR_FOR_TEST_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "meshwright/engine/fake_engine.h"
#include "meshwright/engine/process_team.h"

namespace meshwright {

class AcceleratorForTest final : public Client {
 public:
  static constexpr int kDevices = 2;  // Of each process.

  // `on_run`, if given, is called by every program that runs.
  AcceleratorForTest(std::string name, const std::optional<ProcessTeam>& team,
                     std::function<absl::Status()> on_run = nullptr)
      : name_(std::move(name)),
        fake_({.devices = kDevices,
               .process = team.has_value() ? team->process : 0,
               .processes = team.has_value() ? team->processes : 1}) {
    const BufferShape vector{ElementType::kF32, {1}};
    const BufferShape scalar{ElementType::kF32, {}};
    fake_.Register("step", {.signature = {.parameters = {vector, vector},
                                          .outputs = {vector, scalar}},
                            .run = [on_run](const FakeCall& call) {
                              Count(call);
                              return on_run != nullptr ? on_run()
                                                       : absl::OkStatus();
                            }});
  }

  const std::string& platform_name() const override { return name_; }
  const std::string& platform_version() const override { return name_; }
  absl::Span<const Device* const> devices() const override {
    return fake_.devices();
  }
  absl::Span<const DevicePlace> all_devices() const override {
    return fake_.all_devices();
  }
  absl::StatusOr<BufferPtr> FromHost(const HostArray& array,
                                     const Device& device) override {
    return fake_.FromHost(array, device);
  }
  absl::StatusOr<std::unique_ptr<Executable>> Compile(
      const Program&, const CompileOptions& options) override {
    compiled_ = options;
    return fake_.Compile({.format = "fake", .code = "step"}, options);
  }
  absl::StatusOr<std::unique_ptr<Executable>> Load(
      const std::string& code, const CompileOptions& options) override {
    return fake_.Load(code, options);
  }

  const CompileOptions& compiled() const { return compiled_; }

 private:
  static void Count(const FakeCall& call) {
    for (size_t d = 0; d < call.inputs.size(); ++d) {
      const auto in = [&](int i) {
        return *reinterpret_cast<const float*>(call.inputs[d][i].data());
      };
      const auto out = [&](int i) {
        return reinterpret_cast<float*>(call.outputs[d][i].data());
      };
      *out(0) = in(0) + in(1);
      *out(1) = in(0);
    }
  }

  const std::string name_;
  FakeClient fake_;
  CompileOptions compiled_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_ACCELERATOR_FOR_TEST_H_
