// Test support: does a step that runs as a pipeline compute what it does on one
// device?
#ifndef MESHWRIGHT_TESTS_PIPELINE_PIPELINE_ORACLE_H_
#define MESHWRIGHT_TESTS_PIPELINE_PIPELINE_ORACLE_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "meshwright/hlo/module.h"
#include "meshwright/loops/split_loops.h"
#include "meshwright/pipeline_search/pipeline_step.h"
#include "meshwright/runtime/pipeline_runner.h"
#include "meshwright/schedule/schedule_kind.h"

namespace meshwright {

class PipelineOracle {
 public:
  // Runs the micro-batched step (of `module`, which outlives the oracle) on one
  // device, and takes it apart for so many stages, loops cut.
  static absl::StatusOr<std::unique_ptr<PipelineOracle>> Create(
      const Module& module, const MicroBatchOptions& options, int steps,
      int32_t stages);

  const PipelineStep& step() const { return step_; }
  const std::optional<SplitStep>& loops() const { return loops_; }
  // All outputs of the last step.
  const std::vector<Tensor>& wanted() const { return wanted_; }

  absl::StatusOr<StagedStep> Staged() const;
  // All outputs after as many steps, on `ranks` groups of devices with a `mesh`
  // each, by each of the schedules; these want the stages on the same ranks.
  // `executions`: what happened in the last step of each.
  absl::StatusOr<std::vector<std::vector<Tensor>>> Run(
      const StagedStep& staged, int ranks, const std::string& mesh,
      const std::vector<ScheduleKind>& schedules,
      std::vector<Simulation>* executions = nullptr) const;
  // |a - b| <= tolerance * (|b| + largest |b| of the tensor * 0.1).
  absl::Status Compare(const std::vector<Tensor>& outputs,
                       double tolerance = 2e-5) const;

 private:
  PipelineOracle(const Module& module, int steps, int32_t stages,
                 std::optional<SplitStep> loops, PipelineStep step)
      : module_(module),
        steps_(steps),
        stages_(stages),
        loops_(std::move(loops)),
        step_(std::move(step)) {}

  // The step that stages are made of.
  const Module& cut_module() const {
    return loops_.has_value() ? loops_->module : module_;
  }

  const Module& module_;
  const int steps_;
  const int32_t stages_;
  const std::optional<SplitStep> loops_;
  const PipelineStep step_;
  std::vector<Tensor> wanted_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_TESTS_PIPELINE_PIPELINE_ORACLE_H_
