// A step that was started on the devices of a worker and may not have run yet.
#ifndef MESHWRIGHT_RUNTIME_RUNNING_STEP_H_
#define MESHWRIGHT_RUNTIME_RUNNING_STEP_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "meshwright/engine/buffer.h"
#include "meshwright/engine/event.h"
#include "meshwright/runtime/courier.h"
#include "meshwright/runtime/staged_rank.h"
#include "meshwright/state/tensor.h"

namespace meshwright {

struct RunningStep {
  RunningStep(const Courier::Means& means, int64_t number)
      : courier(means, number) {}
  // Waits for the loss, which is copied into this object.
  ~RunningStep();

  // Begins to copy the loss to the host, from where the next step may already
  // be started.
  absl::Status Fetch(const Buffer& loss);
  // Sets `value` if there is a loss.
  absl::Status AwaitLoss(std::optional<double>& value);

  Courier courier;  // Its clock began with the step.
  std::vector<std::unique_ptr<StagedRank>> ranks;
  double wait_seconds = 0;  // For its batch.
  int64_t wire_bytes = 0;

 private:
  Tensor loss_;
  EventPtr is_there_;  // Null: no loss was fetched.
};

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_RUNNING_STEP_H_
