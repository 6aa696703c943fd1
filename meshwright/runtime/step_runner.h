// Runs a training step again and again, on one device or, once it has been
// partitioned, on a mesh of them; its state stays there.
//
//   MW_ASSIGN_OR_RETURN(auto runner, StepRunner::Create(module, client.get()));
//   MW_RETURN_IF_ERROR(runner->FillSynthetic(/*seed=*/0));
//   MW_RETURN_IF_ERROR(runner->Set(tensors));   // By parameter name.
//   MW_ASSIGN_OR_RETURN(const StepResult step, runner->Step());
//   step.loss;     // 4.85
//
// After a step, the outputs that are the next value of a state parameter take
// that parameter's place. Everything else keeps its value until Set again.
// Tensors go in and come out whole, however they lie on the devices.
#ifndef MESHWRIGHT_RUNTIME_STEP_RUNNER_H_
#define MESHWRIGHT_RUNTIME_STEP_RUNNER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "meshwright/analysis/roles.h"
#include "meshwright/engine/client.h"
#include "meshwright/hlo/module.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/mesh/sharding.h"
#include "meshwright/runtime/runner.h"
#include "meshwright/runtime/sharded_array.h"
#include "meshwright/state/tensor.h"

namespace meshwright {

// A step as each device of a mesh runs it: a program for as many replicas as
// there are devices, replica i on device i of the mesh.
struct ShardedStep {
  const Module& program;  // For one device; collectives between replicas.
  Mesh mesh;
  // How the whole step's parameters and outputs lie on the mesh, by number.
  std::vector<Sharding> parameters;
  std::vector<Sharding> outputs;
  char padding = 0;  // Fills the bytes of uneven shards that hold no element.
};

class StepRunner : public Runner {
 public:
  // Compiles the module for the client's first device. The module must have
  // passed Verify and outlive the runner, as must the client.
  static absl::StatusOr<std::unique_ptr<StepRunner>> Create(
      const Module& module, Client* client, OptionMap xla_overrides = {});

  // Compiles step.program for the client's first devices. Names, roles and
  // shapes are those of `module`, the whole step. kInvalidArgument when there
  // are too few devices, the program does not fit the shardings, or state does
  // not come out split as it goes in.
  static absl::StatusOr<std::unique_ptr<StepRunner>> CreateSharded(
      const Module& module, ShardedStep step, Client* client,
      OptionMap xla_overrides = {});

  const ModuleRoles& roles() const override { return roles_; }
  Executable& executable() { return *executable_; }

  absl::Status FillSynthetic(uint64_t seed) override;
  absl::Status Set(std::vector<Tensor> tensors) override;
  absl::StatusOr<StepResult> Step() override;
  absl::StatusOr<std::vector<Tensor>> ReadState() const override;
  absl::StatusOr<std::vector<Tensor>> ReadOutputs() const override;
  // kInternal, naming it, when an output of the last step is not the same, bit
  // for bit, on devices that are to hold copies of it.
  absl::Status CheckOutputCopies() const;

 private:
  StepRunner(const Module& module, ShardedStep step, Client* client);

  absl::Status SetParameter(int64_t number, Tensor tensor);
  absl::StatusOr<double> ReadScalar(const Buffer& buffer) const;
  // By output number; none before the first step.
  std::vector<const ShardedArray*> OutputArrays() const;

  const Module& module_;
  const ShardedStep step_;
  Client* client_;
  ModuleRoles roles_;
  std::vector<Shape> shapes_;            // Of the parameters.
  std::vector<ShardedArray> arguments_;  // By parameter number.
  std::vector<ShardedArray> outputs_;    // Empty for those that are state.
  std::unique_ptr<Executable> executable_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_STEP_RUNNER_H_
