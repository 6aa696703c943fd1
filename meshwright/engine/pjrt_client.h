// The client of a loaded plug-in.
#ifndef MESHWRIGHT_ENGINE_PJRT_CLIENT_H_
#define MESHWRIGHT_ENGINE_PJRT_CLIENT_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "meshwright/engine/client.h"
#include "meshwright/engine/pjrt_api.h"
#include "meshwright/engine/pjrt_session.h"
#include "meshwright/engine/process_team.h"

namespace meshwright {

class PjrtClient final : public Client {
 public:
  // Opens the platform with `options`; every program is compiled with
  // `xla_defaults` unless its own options override them. `team` as in
  // ClientOptions.
  static absl::StatusOr<std::unique_ptr<Client>> Create(
      const PjrtApi* api, const OptionMap& options, OptionMap xla_defaults,
      const std::optional<ProcessTeam>& team = std::nullopt);

  const std::string& platform_name() const override {
    return session_->platform_name();
  }
  const std::string& platform_version() const override {
    return session_->platform_version();
  }
  absl::Span<const Device* const> devices() const override {
    return session_->devices();
  }
  absl::Span<const DevicePlace> all_devices() const override {
    return session_->all_devices();
  }
  absl::StatusOr<BufferPtr> FromHost(const HostArray& array,
                                     const Device& device) override;
  absl::StatusOr<std::unique_ptr<Executable>> Load(
      const std::string& serialized, const CompileOptions& options) override;
  absl::StatusOr<std::unique_ptr<Executable>> Compile(
      const Program& program, const CompileOptions& options) override;

 private:
  PjrtClient(std::shared_ptr<const PjrtSession> session, OptionMap xla_defaults)
      : session_(std::move(session)), xla_defaults_(std::move(xla_defaults)) {}

  // With XNNPACK; null if the program has a fusion of it that must not run.
  absl::StatusOr<std::unique_ptr<Executable>> CompileIfSafe(
      const Program& program, const CompileOptions& options);
  absl::StatusOr<std::unique_ptr<Executable>> CompileWith(
      const OptionMap& defaults, const Program& program,
      const CompileOptions& options);

  std::shared_ptr<const PjrtSession> session_;
  OptionMap xla_defaults_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_ENGINE_PJRT_CLIENT_H_
