// Executables of a PJRT client.
//
//   MW_ASSIGN_OR_RETURN(auto executable,
//                       PjrtExecutable::Create(session, loaded));
#ifndef MESHWRIGHT_ENGINE_PJRT_EXECUTABLE_H_
#define MESHWRIGHT_ENGINE_PJRT_EXECUTABLE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "meshwright/engine/executable.h"
#include "meshwright/engine/pjrt_api.h"
#include "meshwright/engine/pjrt_session.h"

namespace meshwright {

class PjrtExecutable final : public Executable {
 public:
  // Queries the plug-in for the program's name, devices and signature.
  static absl::StatusOr<std::unique_ptr<PjrtExecutable>> Create(
      std::shared_ptr<const PjrtSession> session,
      PjrtHandle<PJRT_LoadedExecutable> loaded);

  const std::string& name() const override { return name_; }
  const ProgramSignature& signature() const override { return *signature_; }
  absl::Span<const Device* const> devices() const override { return devices_; }
  absl::StatusOr<Execution> Execute(
      absl::Span<const absl::Span<Buffer* const>> arguments,
      const ExecuteOptions& options) override;
  absl::StatusOr<ProgramMemory> Memory() const override;
  absl::StatusOr<ProgramCost> Cost() const override;
  absl::StatusOr<Program> OptimizedProgram() const override;
  absl::StatusOr<std::string> Serialize() const override;
  absl::StatusOr<std::string> Fingerprint() const override;

 private:
  PjrtExecutable(std::shared_ptr<const PjrtSession> session,
                 PjrtHandle<PJRT_LoadedExecutable> loaded)
      : session_(std::move(session)), loaded_(std::move(loaded)) {}
  absl::Status ReadExecutable();
  absl::Status ReadDevices();
  absl::Status ReadProgramSignature();
  Execution TakeResults(absl::Span<PJRT_Buffer* const> outputs,
                        absl::Span<PJRT_Event* const> done) const;

  const PjrtApi& api() const { return session_->api(); }

  std::shared_ptr<const PjrtSession> session_;
  PjrtHandle<PJRT_LoadedExecutable> loaded_;
  PjrtHandle<PJRT_Executable> executable_;  // What it says about itself.
  std::string name_;
  std::shared_ptr<const ProgramSignature> signature_;  // Shared with outputs.
  std::vector<const Device*> devices_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_ENGINE_PJRT_EXECUTABLE_H_
