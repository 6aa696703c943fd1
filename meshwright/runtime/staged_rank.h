// One rank of a pipeline while it runs a step: the row of the timetable, then
// the end of the step.
#ifndef MESHWRIGHT_RUNTIME_STAGED_RANK_H_
#define MESHWRIGHT_RUNTIME_STAGED_RANK_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "meshwright/base/stopwatch.h"
#include "meshwright/engine/client.h"
#include "meshwright/pipeline/stage_layout.h"
#include "meshwright/pipeline/stage_programs.h"
#include "meshwright/runtime/staged_exchange.h"
#include "meshwright/runtime/staged_transfer.h"
#include "meshwright/schedule/simulate.h"
#include "meshwright/schedule/timetable.h"

namespace meshwright {

// A step as it was compiled: the same for all ranks and steps.
struct StagedPrograms {
  const StagedStep& step;
  StagedLayout layout;
  Client* client = nullptr;
  std::vector<std::vector<const Device*>> devices;       // By stage.
  std::vector<std::unique_ptr<Executable>> executables;  // By program.
  std::unique_ptr<TileMover> mover;
  // Of all that goes to another stage; micro-batch 0 stands for all.
  std::map<StagedExchange::Key, Route> routes;

  Placement PlacementOf(int32_t stage) const {
    return {client, layout.meshes[stage], devices[stage]};
  }
  // Starts the copies to key.stage.
  absl::StatusOr<SharedArray> Move(const StagedExchange::Key& key,
                                   const ShardedArray& array) const;
};

// What programs read that is there before the step begins.
struct StagedInputs {
  // By parameter and stage: one array, or one for each micro-batch.
  std::map<std::pair<int64_t, int32_t>, std::vector<SharedArray>> parameters;
  // As StagedLayout::at_work.
  std::map<std::pair<int64_t, int32_t>, SharedArray> at_work;
  // By stage and micro-batch: its number.
  std::vector<std::vector<SharedArray>> numbers;
};

class StagedRank {
 public:
  // All outlive it.
  StagedRank(const StagedPrograms* programs, const StagedInputs* inputs,
             StagedExchange* exchange, std::vector<int32_t> stages,
             const Stopwatch* clock)
      : programs_(*programs),
        inputs_(*inputs),
        exchange_(*exchange),
        stages_(std::move(stages)),
        clock_(*clock) {}

  // Runs the row (sends and receives need not be in it) and what follows.
  absl::Status Run(const std::vector<Action>& row);

  // What happened.
  struct Record {
    std::vector<TimedAction> actions;
    // What came here.
    std::vector<TimedTransfer> received;
    // What stages hold between programs, on one of their devices.
    std::vector<MemoryPoint> memory;
  };

  // After Run: the step's outputs that were made here, by value.
  std::map<int64_t, SharedArray>& outputs() { return outputs_; }
  Record& record() { return record_; }

 private:
  struct Held {
    SharedArray array;
    int64_t uses = 0;  // Still to come.
  };

  absl::Status RunAction(const Action& action);
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
  absl::StatusOr<SharedArray> Receive(const StagedExchange::Key& key);
  void Hold(int64_t value, int32_t stage, int64_t micro_batch,
            SharedArray array);
  absl::Status Send(const StagedExchange::Key& key, int32_t from,
                    const ShardedArray& array);
  int64_t UsesOn(int64_t value, int32_t stage) const;

  const StagedPrograms& programs_;
  const StagedInputs& inputs_;
  StagedExchange& exchange_;
  const std::vector<int32_t> stages_;
  const Stopwatch& clock_;
  // By value, stage and micro-batch.
  std::map<std::tuple<int64_t, int32_t, int64_t>, Held> values_;
  // By accumulator and stage.
  std::map<std::pair<int64_t, int32_t>, SharedArray> accumulators_;
  std::map<int64_t, SharedArray> outputs_;
  Record record_;
  // When the programs of the present action had all they need.
  std::optional<double> began_;
  int64_t held_bytes_ = 0;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_STAGED_RANK_H_
