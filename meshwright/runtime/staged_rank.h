// One rank of a pipeline executing a step on the devices of one worker: its row
// of the timetable, then the end of the step.
#ifndef MESHWRIGHT_RUNTIME_STAGED_RANK_H_
#define MESHWRIGHT_RUNTIME_STAGED_RANK_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "meshwright/base/stopwatch.h"
#include "meshwright/engine/event.h"
#include "meshwright/engine/executable.h"
#include "meshwright/runtime/action_log.h"
#include "meshwright/runtime/courier.h"
#include "meshwright/runtime/job.h"
#include "meshwright/runtime/job_site.h"
#include "meshwright/runtime/own_devices.h"
#include "meshwright/runtime/parcel.h"
#include "meshwright/schedule/timetable.h"

namespace meshwright {

// A job as compiled on this worker: the same for all ranks and steps.
struct StagedPrograms {
  Job job;
  std::vector<OwnDevices> own;  // By stage.
  // By program; null if none of its devices is here.
  std::vector<std::unique_ptr<Executable>> executables;
};

// Inputs of programs that exist before the step begins.
struct StagedInputs {
  // By parameter and stage (where it lives or is given): one array, or one for
  // each micro-batch.
  std::map<std::pair<int64_t, StageId>, std::vector<SharedArray>> parameters;
  // By stage and micro-batch: its number.
  std::vector<std::vector<SharedArray>> numbers;
};

class StagedRank {
 public:
  // All arguments must outlive it; `log` may be null. Without `awaits`, Run
  // starts programs and does not wait for them.
  StagedRank(const StagedPrograms* programs, const StagedInputs* inputs,
             Courier* courier, std::vector<StageId> stages, bool awaits,
             ActionLog* log)
      : programs_(*programs),
        inputs_(*inputs),
        courier_(*courier),
        stages_(std::move(stages)),
        awaits_(awaits),
        log_(log),
        clock_(courier->clock()) {}

  // Runs the row (which need not have sends and receives) and the end of the
  // step.
  absl::Status Run(const std::vector<Action>& row);
  // Waits until all that Run started has run.
  absl::Status Await();

  // After Run: the step's outputs that were computed here, by value.
  std::map<int64_t, SharedArray>& outputs() { return outputs_; }
  RankRecord& record() { return record_; }

 private:
  struct Held {
    SharedArray array;
    int64_t uses = 0;  // Remaining.
  };
  // A program that was started, and on each device an event.
  struct Started {
    ProgramId program;
    std::vector<EventPtr> done;
  };

  // Sends state that other stages read, and reshards state as programs need it.
  absl::Status PrepareState();
  // Posts receives for the programs of an action.
  void Expect(const Action& action);
  absl::Status RunAction(const Action& action);
  void Log(const std::string& what);
  absl::Status RunKind(StageProgram::Kind kind, StageId stage,
                       int64_t micro_batch);
  absl::Status RunProgram(ProgramId program, int64_t micro_batch);
  absl::Status SendAccumulators();
  absl::StatusOr<SharedArray> Input(const StageInput& input,
                                    const StageProgram& program,
                                    int64_t micro_batch);
  absl::StatusOr<SharedArray> Value(int64_t value, StageId stage,
                                    int64_t micro_batch);
  absl::Status Deliver(int32_t value, SharedArray array, int64_t micro_batch);
  // Waits for what another stage sent.
  absl::StatusOr<SharedArray> Receive(const ParcelKey& key);
  void Hold(int64_t value, StageId stage, int64_t micro_batch,
            SharedArray array);
  int64_t UsesOn(int64_t value, StageId stage) const;

  const StagedPrograms& programs_;
  const StagedInputs& inputs_;
  Courier& courier_;
  const std::vector<StageId> stages_;
  const bool awaits_;
  ActionLog* const log_;  // May be null.
  const Stopwatch& clock_;
  // By parameter and stage: copies of state that lives elsewhere, and resharded
  // state (StagedLayout::at_work).
  std::map<std::pair<int64_t, StageId>, SharedArray> copies_;
  std::map<std::pair<int64_t, StageId>, SharedArray> at_work_;
  // By value, stage and micro-batch.
  std::set<std::tuple<int64_t, StageId, int64_t>> expected_;
  std::map<std::tuple<int64_t, StageId, int64_t>, Held> values_;
  // By accumulator and stage.
  std::map<std::pair<int64_t, StageId>, SharedArray> accumulators_;
  std::map<int64_t, SharedArray> outputs_;
  std::vector<Started> started_;  // Not awaited yet.
  RankRecord record_;
  // When the programs of the present action had all their inputs.
  std::optional<double> began_;
  int64_t held_bytes_ = 0;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_STAGED_RANK_H_
