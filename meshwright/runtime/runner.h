// A training step that runs again and again, wherever it runs.
#ifndef MESHWRIGHT_RUNTIME_RUNNER_H_
#define MESHWRIGHT_RUNTIME_RUNNER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "meshwright/analysis/roles.h"
#include "meshwright/checkpoint/save_options.h"
#include "meshwright/hlo/module.h"
#include "meshwright/state/tensor.h"

namespace meshwright {

struct StepResult {
  double seconds = 0;  // From dispatch until every output is there.
  std::optional<double> loss;
};

class Runner {
 public:
  virtual ~Runner() = default;

  virtual const ModuleRoles& roles() const = 0;
  // Gives every parameter a synthetic value (state/synthetic.h).
  virtual absl::Status FillSynthetic(uint64_t seed) = 0;
  // Gives the parameters of these names a value. kInvalidArgument when there is
  // no such parameter or the tensor does not fit it.
  virtual absl::Status Set(std::vector<Tensor> tensors) = 0;
  // Gives state parameters the values that `init` computes, where they live:
  // its outputs have their names, or their order. `arguments` are init's
  // parameters, by name; what is not given is synthetic, of `seed`. `init` has
  // passed Verify, without calls.
  virtual absl::Status Init(const Module& init, std::vector<Tensor> arguments,
                            uint64_t seed) = 0;
  // From the next step on, the data parameters that a dataset names
  // (docs/formats.md) come from it: step after step the next batch, from
  // `position` on, read where the devices are and ahead of the steps. Until
  // that ends, with an empty `dataset`, these parameters are not Set otherwise;
  // then they keep their last values. kInvalidArgument when it cannot be read;
  // then there is none, nor a value.
  virtual absl::Status Feed(const std::string& dataset, int64_t position) = 0;
  // Samples of the dataset consumed: where to go on. nullopt without one.
  virtual std::optional<int64_t> position() const = 0;
  // Requires a value for every parameter.
  virtual absl::StatusOr<StepResult> Step() = 0;
  // That many, one after another. `meanwhile` is called once they have begun,
  // and may Set data for those that follow: on workers it travels while steps
  // run.
  using Meanwhile = std::function<absl::Status()>;
  virtual absl::StatusOr<std::vector<StepResult>> Steps(
      int64_t count, const Meanwhile& meanwhile) = 0;
  absl::StatusOr<std::vector<StepResult>> Steps(int64_t count) {
    return Steps(count, nullptr);
  }
  // The present values of the state parameters.
  virtual absl::StatusOr<std::vector<Tensor>> ReadState() const = 0;
  // All outputs of the last step. Requires that there was one, and no Set of
  // state since.
  virtual absl::StatusOr<std::vector<Tensor>> ReadOutputs() const = 0;
  // The present value of a state parameter, or an output of the last step.
  // kNotFound if neither has this name.
  virtual absl::StatusOr<Tensor> Read(const std::string& name) const = 0;

  // Saves the state parameters, by name, as a checkpoint (checkpoint/). Each
  // worker writes what its devices hold. Waits for the save before, and fails
  // as that did, unless AwaitSaved told; what runs, runs on.
  virtual absl::Status Save(const SaveOptions& options) = 0;
  // Until what is saved in the background is a checkpoint, or has failed.
  virtual absl::Status AwaitSaved() = 0;
  // From DIR, the newest complete one, or DIR/step_00000100; saved however the
  // state lay. kInvalidArgument, naming the file or tensor, when it does not
  // fit or is damaged: then state has no value.
  virtual absl::StatusOr<RestoredState> Restore(
      const std::string& directory) = 0;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_RUNNER_H_
