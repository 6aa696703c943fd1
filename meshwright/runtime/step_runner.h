// Runs a training step again and again on one device; its state stays there.
//
//   MW_ASSIGN_OR_RETURN(auto runner, StepRunner::Create(module, client.get()));
//   MW_RETURN_IF_ERROR(runner->FillSynthetic(/*seed=*/0));
//   MW_RETURN_IF_ERROR(runner->Set(tensors));   // By parameter name.
//   MW_ASSIGN_OR_RETURN(const StepResult step, runner->Step());
//   step.loss;     // 4.85
//
// After a step, the outputs that are the next value of a state parameter take
// that parameter's place. Everything else keeps its value until Set again.
#ifndef MESHWRIGHT_RUNTIME_STEP_RUNNER_H_
#define MESHWRIGHT_RUNTIME_STEP_RUNNER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "meshwright/analysis/roles.h"
#include "meshwright/engine/client.h"
#include "meshwright/hlo/module.h"
#include "meshwright/state/tensor.h"

namespace meshwright {

struct StepResult {
  double seconds = 0;  // From dispatch until every output is there.
  std::optional<double> loss;
};

class StepRunner {
 public:
  // Compiles the module for the client's first device. The module must have
  // passed Verify and outlive the runner, as must the client.
  static absl::StatusOr<std::unique_ptr<StepRunner>> Create(
      const Module& module, Client* client, OptionMap xla_overrides = {});

  const ModuleRoles& roles() const { return roles_; }
  Executable& executable() { return *executable_; }

  // Gives every parameter a synthetic value (state/synthetic.h).
  absl::Status FillSynthetic(uint64_t seed);
  // Gives the parameters of these names a value. kInvalidArgument when there is
  // no such parameter or the tensor does not fit it.
  absl::Status Set(std::vector<Tensor> tensors);

  // Requires a value for every parameter.
  absl::StatusOr<StepResult> Step();

  // The present values of the state parameters.
  absl::StatusOr<std::vector<Tensor>> ReadState() const;

 private:
  StepRunner(const Module& module, Client* client);

  absl::Status SetParameter(int64_t number, Tensor tensor);
  absl::StatusOr<double> ReadScalar(const Buffer& buffer) const;

  const Module& module_;
  Client* client_;
  ModuleRoles roles_;
  std::vector<Shape> shapes_;         // Of the parameters.
  std::vector<BufferPtr> arguments_;  // By parameter number.
  std::unique_ptr<Executable> executable_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_STEP_RUNNER_H_
