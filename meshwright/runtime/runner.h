// A training step that runs repeatedly, wherever it runs.
#ifndef MESHWRIGHT_RUNTIME_RUNNER_H_
#define MESHWRIGHT_RUNTIME_RUNNER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "meshwright/analysis/roles.h"
#include "meshwright/checkpoint/save_options.h"
#include "meshwright/hlo/module.h"
#include "meshwright/state/lent_tensor.h"
#include "meshwright/state/tensor.h"

namespace meshwright {

struct StepResult {
  double seconds = 0;  // From dispatch until every output is available.
  std::optional<double> loss;
};

class JobRunner;

class Runner {
 public:
  virtual ~Runner() = default;

  // Itself, or the one that it wraps, if tensors are in the job as they are in
  // the step; else null.
  virtual JobRunner* AsJob() { return nullptr; }

  virtual const ModuleRoles& roles() const = 0;
  // Gives every parameter a synthetic value (state/synthetic.h).
  virtual absl::Status FillSynthetic(uint64_t seed) = 0;
  // Sets parameters by name. kInvalidArgument if there is no such parameter or
  // the tensor does not fit it.
  virtual absl::Status Set(std::vector<Tensor> tensors) = 0;
  // The same of one that may be lent. Its owner is let go when devices have
  // what they need of it, which may be later.
  virtual absl::Status SetLent(LentTensor tensor);
  // Begins to transfer data of a later step, under a number; several tensors
  // may have it, numbers ascend. May be called on any thread, while steps run.
  // What it needs of the devices' memory is in addition to the present data.
  virtual absl::Status Stage(int64_t batch, LentTensor tensor) = 0;
  // The next step uses what was staged under this number. kNotFound if nothing
  // was; what has a lower one is dropped.
  virtual absl::Status TakeStaged(int64_t batch) = 0;
  // Sets state parameters to the values that `init` computes, on their devices;
  // its outputs have their names, or their order. `arguments` are init's
  // parameters, by name; missing ones are synthetic, from `seed`. Requires:
  // `init` passed Verify and has no calls.
  virtual absl::Status Init(const Module& init, std::vector<Tensor> arguments,
                            uint64_t seed) = 0;
  // From the next step on, the data parameters that a dataset names
  // (docs/formats.md) are its consecutive batches, starting at `position`, read
  // where the devices are and prefetched. Until that ends, by an empty
  // `dataset`, these parameters must not be Set; afterwards they keep their
  // last values. kInvalidArgument if the dataset cannot be read; then there is
  // none, and the parameters have no values.
  virtual absl::Status Feed(const std::string& dataset, int64_t position) = 0;
  // Samples of the dataset consumed, from which to resume. nullopt without one.
  virtual std::optional<int64_t> position() const = 0;
  // Requires: every parameter has a value.
  virtual absl::StatusOr<StepResult> Step() = 0;
  virtual absl::StatusOr<std::vector<StepResult>> Steps(int64_t count) = 0;
  // The present values of the state parameters.
  virtual absl::StatusOr<std::vector<Tensor>> ReadState() const = 0;
  // All outputs of the last step. Requires: there was one, and no Set of state
  // since.
  virtual absl::StatusOr<std::vector<Tensor>> ReadOutputs() const = 0;
  // The present value of a state parameter, or an output of the last step.
  // kNotFound if neither has this name.
  virtual absl::StatusOr<Tensor> Read(const std::string& name) const = 0;
  // The same, into `bytes`; the tensor that it returns has no data.
  // kInvalidArgument when it is not of that size.
  virtual absl::StatusOr<Tensor> ReadInto(const std::string& name,
                                          absl::Span<std::byte> bytes) const;

  // Saves the state parameters, by name, as a checkpoint (checkpoint/). Each
  // worker writes what its devices hold. Waits for the previous save, and
  // returns its failure unless AwaitSaved has; steps may run meanwhile.
  virtual absl::Status Save(const SaveOptions& options) = 0;
  // Waits until a save in the background is complete, or has failed.
  virtual absl::Status AwaitSaved() = 0;
  // From DIR (its newest complete checkpoint) or DIR/step_00000100, whatever
  // shardings it was saved with. kInvalidArgument, naming the file or tensor,
  // if it does not fit or is damaged: then state has no value.
  virtual absl::StatusOr<RestoredState> Restore(
      const std::string& directory) = 0;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_RUNNER_H_
