// One rank of a pipeline while it runs a step on the devices of one worker: the
// row of the timetable, then the end of the step.
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
#include "meshwright/engine/executable.h"
#include "meshwright/runtime/action_log.h"
#include "meshwright/runtime/courier.h"
#include "meshwright/runtime/job.h"
#include "meshwright/runtime/job_site.h"
#include "meshwright/runtime/own_devices.h"
#include "meshwright/runtime/parcel.h"
#include "meshwright/schedule/timetable.h"

namespace meshwright {

// A job as it was compiled on this worker: the same for all ranks and steps.
struct StagedPrograms {
  Job job;
  std::vector<OwnDevices> own;  // By stage.
  // By program; null where none of its devices is here.
  std::vector<std::unique_ptr<Executable>> executables;
};

// What programs read that is there before the step begins.
struct StagedInputs {
  // By parameter and stage, where it lives or is given: one array, or one for
  // each micro-batch.
  std::map<std::pair<int64_t, int32_t>, std::vector<SharedArray>> parameters;
  // By stage and micro-batch: its number.
  std::vector<std::vector<SharedArray>> numbers;
};

class StagedRank {
 public:
  // All outlive it; there may be no log.
  StagedRank(const StagedPrograms* programs, const StagedInputs* inputs,
             Courier* courier, std::vector<int32_t> stages, ActionLog* log)
      : programs_(*programs),
        inputs_(*inputs),
        courier_(*courier),
        stages_(std::move(stages)),
        log_(log),
        clock_(courier->clock()) {}

  // Runs the row (sends and receives need not be in it) and what follows.
  absl::Status Run(const std::vector<Action>& row);

  // After Run: the step's outputs that were made here, by value.
  std::map<int64_t, SharedArray>& outputs() { return outputs_; }
  RankRecord& record() { return record_; }

 private:
  struct Held {
    SharedArray array;
    int64_t uses = 0;  // Still to come.
  };

  // State that other stages read, and lays it out as programs want it.
  absl::Status PrepareState();
  // Gets ready for what the programs of an action will receive.
  void Expect(const Action& action);
  absl::Status RunAction(const Action& action);
  void Log(const std::string& what);
  absl::Status RunKind(StageProgram::Kind kind, int32_t stage,
                       int64_t micro_batch);
  absl::Status RunProgram(int32_t program, int64_t micro_batch);
  absl::Status SendAccumulators();
  absl::StatusOr<SharedArray> Input(const StageInput& input,
                                    const StageProgram& program,
                                    int64_t micro_batch);
  absl::StatusOr<SharedArray> Value(int64_t value, int32_t stage,
                                    int64_t micro_batch);
  absl::Status Deliver(int32_t value, SharedArray array, int64_t micro_batch);
  // What another stage sent, once it is here.
  absl::StatusOr<SharedArray> Receive(const ParcelKey& key);
  void Hold(int64_t value, int32_t stage, int64_t micro_batch,
            SharedArray array);
  int64_t UsesOn(int64_t value, int32_t stage) const;

  const StagedPrograms& programs_;
  const StagedInputs& inputs_;
  Courier& courier_;
  const std::vector<int32_t> stages_;
  ActionLog* const log_;  // May be null.
  const Stopwatch& clock_;
  // By parameter and stage: copies of state that lives elsewhere, and state as
  // StagedLayout::at_work.
  std::map<std::pair<int64_t, int32_t>, SharedArray> copies_;
  std::map<std::pair<int64_t, int32_t>, SharedArray> at_work_;
  // By value, stage and micro-batch, as what follows.
  std::set<std::tuple<int64_t, int32_t, int64_t>> expected_;
  std::map<std::tuple<int64_t, int32_t, int64_t>, Held> values_;
  // By accumulator and stage.
  std::map<std::pair<int64_t, int32_t>, SharedArray> accumulators_;
  std::map<int64_t, SharedArray> outputs_;
  RankRecord record_;
  // When the programs of the present action had all they need.
  std::optional<double> began_;
  int64_t held_bytes_ = 0;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_STAGED_RANK_H_
