// Where a job runs: all its devices, here or on other machines.
#ifndef MESHWRIGHT_RUNTIME_JOB_SITE_H_
#define MESHWRIGHT_RUNTIME_JOB_SITE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "meshwright/checkpoint/shard_file.h"
#include "meshwright/data/dataset_spec.h"
#include "meshwright/runtime/job.h"
#include "meshwright/runtime/save_plan.h"
#include "meshwright/schedule/simulate.h"
#include "meshwright/state/tensor.h"

namespace meshwright {

// A shard of a parameter, or of the part of it that a micro-batch gets.
struct ParameterShard {
  int64_t parameter = 0;
  int32_t stage = 0;
  int64_t micro_batch = 0;
  std::vector<int64_t> devices;  // Of the stage's mesh: all that hold it.
};

// What one device holds, between steps.
struct ShardAt {
  enum class Kind : uint8_t { kState, kOutput };
  Kind kind = Kind::kState;
  int64_t index = 0;   // Of a parameter that is state, or of an output.
  int64_t device = 0;  // Of the mesh of the stage where it is.
};

// What happened on one rank, on the devices of one worker.
struct RankRecord {
  int rank = 0;
  std::vector<TimedAction> actions;
  std::vector<TimedTransfer> received;  // What came here.
  // What stages hold between programs, on one of their devices.
  std::vector<MemoryPoint> memory;
  double wire_seconds = 0;  // Waiting for other workers.
};

// One worker's part in a step.
struct WorkerRecord {
  double seconds = 0;
  double busy_seconds = 0;   // In programs.
  double wire_seconds = 0;   // Waiting for other workers.
  int64_t memory_bytes = 0;  // That its programs take on a device.
};

struct StepReport {
  double seconds = 0;
  std::optional<double> loss;
  std::vector<RankRecord> ranks;
  int64_t wire_bytes = 0;             // Between workers.
  std::vector<WorkerRecord> workers;  // Of those that are other processes.
  // Of the dataset, after this step, if one feeds it: samples consumed.
  std::optional<int64_t> position;
};

class Executor;

// State that is being written.
class StateWrite {
 public:
  virtual ~StateWrite() = default;
  // By file of the plan (PlanSave), once all are written. From any thread, if
  // the state was copied.
  virtual absl::StatusOr<std::vector<WrittenFile>> Await() = 0;
};

class JobSite {
 public:
  using StepEvent = std::function<void(int64_t number, const StepReport&)>;

  virtual ~JobSite() = default;

  // Called after every step, once all workers have run it, on the thread that
  // runs steps.
  void OnStep(StepEvent event) { on_step_ = std::move(event); }

  // The next step has this number; after a restore.
  void NumberStepsFrom(int64_t step) { step_offset_ = step - steps_run(); }

  virtual const Job& job() const = 0;

  // From the next step on, parameters come from a dataset (data/), read where
  // the devices are; null: no more. kInvalidArgument when it cannot be read;
  // then there is none.
  absl::Status Feed(const DatasetSpec* spec, int64_t position);
  std::optional<int64_t> position() const { return position_; }

  virtual absl::Status Set(const ParameterShard& at, Tensor shard) = 0;
  // As many steps, one after another. kFailedPrecondition when a parameter has
  // no value.
  // `meanwhile`, if there is one, is called once they have begun; what it
  // Sets is for the steps after these.
  virtual absl::StatusOr<std::vector<StepReport>> Steps(
      int64_t count, const std::function<absl::Status()>& meanwhile) = 0;
  // In the order of `shards`.
  virtual absl::StatusOr<std::vector<Tensor>> Read(
      absl::Span<const ShardAt> shards) = 0;

  // A job that computes state of this one (init_job.h), on the same devices; it
  // goes before this one does.
  virtual absl::StatusOr<std::unique_ptr<JobSite>> LoadInit(JobSource init) = 0;
  // Its outputs, once it has run, become these parameters; then it is over.
  virtual absl::Status Adopt(JobSite& init,
                             const std::vector<int64_t>& parameters) = 0;

  // Has the state's files written into a folder that is there. With `copy` it
  // returns as soon as the state may change.
  virtual absl::StatusOr<std::unique_ptr<StateWrite>> BeginSave(
      const StateMap& map, const std::string& folder, bool copy) = 0;
  // Gives all devices what they hold of a checkpoint, which has these tensors.
  virtual absl::Status ReadState(const StateMap& map,
                                 const std::string& folder) = 0;

  // Ends what is under way on other machines, from any thread; nothing runs
  // here any more.
  virtual void Abort(const absl::Status&) {}

  // What runs it, if all of it runs in this process.
  virtual Executor* executor() { return nullptr; }

 protected:
  virtual absl::Status FeedWorkers(const DatasetSpec* spec,
                                   int64_t position) = 0;
  // All workers have run it.
  void Complete(int64_t number, StepReport& report);
  // Since it was loaded.
  virtual int64_t steps_run() const = 0;
  // From steps_run to the numbers that others see.
  int64_t step_offset() const { return step_offset_; }

 private:
  StepEvent on_step_;
  std::optional<int64_t> position_;  // If there is a feed.
  int64_t batch_ = 0;                // Of it.
  int64_t step_offset_ = 0;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_JOB_SITE_H_
