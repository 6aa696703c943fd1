// Executables of the fake engine: a registered function and its devices.
#ifndef MESHWRIGHT_ENGINE_FAKE_EXECUTABLE_H_
#define MESHWRIGHT_ENGINE_FAKE_EXECUTABLE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "meshwright/engine/executable.h"
#include "meshwright/engine/fake_device.h"
#include "meshwright/engine/fake_session.h"

namespace meshwright {

class FakeExecutable final : public Executable {
 public:
  FakeExecutable(std::shared_ptr<FakeSession> session, std::string name,
                 std::shared_ptr<const FakeFunction> function,
                 std::vector<const Device*> devices)
      : session_(std::move(session)),
        name_(std::move(name)),
        function_(std::move(function)),
        devices_(std::move(devices)) {}

  const std::string& name() const override { return name_; }
  const ProgramSignature& signature() const override {
    return function_->signature;
  }
  absl::Span<const Device* const> devices() const override { return devices_; }
  absl::StatusOr<Execution> Execute(
      absl::Span<const absl::Span<Buffer* const>> arguments,
      const ExecuteOptions& options) override;
  absl::StatusOr<ProgramMemory> Memory() const override;
  absl::StatusOr<ProgramCost> Cost() const override { return function_->cost; }
  absl::StatusOr<Program> OptimizedProgram() const override;
  absl::StatusOr<std::string> Serialize() const override { return name_; }
  absl::StatusOr<std::string> Fingerprint() const override { return name_; }

 private:
  // Contents by device and then by parameter or output.
  using Storages = std::vector<std::vector<FakeStoragePtr>>;

  absl::StatusOr<Storages> AllocateOutputs(const Storages& inputs,
                                           const ExecuteOptions& options) const;

  std::shared_ptr<FakeSession> session_;
  std::string name_;
  std::shared_ptr<const FakeFunction> function_;
  std::vector<const Device*> devices_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_ENGINE_FAKE_EXECUTABLE_H_
