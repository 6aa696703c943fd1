// Where a job runs: all its devices, here or on other machines.
#ifndef MESHWRIGHT_RUNTIME_JOB_SITE_H_
#define MESHWRIGHT_RUNTIME_JOB_SITE_H_

#include <cstddef>
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
#include "meshwright/engine/client.h"
#include "meshwright/runtime/job.h"
#include "meshwright/runtime/save_plan.h"
#include "meshwright/schedule/simulate.h"

namespace meshwright {

// A shard of a parameter, or of the part of it that a micro-batch gets.
struct ParameterShard {
  int64_t parameter = 0;
  StageId stage;
  int64_t micro_batch = 0;
  // Of the stage's mesh: all that hold the shard.
  std::vector<int64_t> devices;
  // 0: the next step uses it. Otherwise it is staged under this number until
  // steps take it (JobSite::TakeStaged).
  int64_t batch = 0;
};

// A whole parameter, or the part of it that a micro-batch gets.
struct GivenArray {
  absl::Span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
  bool is_lent = false;  // The owner wants them back.
};

// A shard that a device holds between steps.
struct ShardAt {
  enum class Kind : uint8_t { kState, kOutput };
  Kind kind = Kind::kState;
  int64_t index = 0;   // Of a state parameter, or of an output.
  int64_t device = 0;  // Of the mesh of the stage that holds it.
};

// What happened on one rank, on the devices of one worker.
struct RankRecord {
  int rank = 0;
  std::vector<TimedAction> actions;
  std::vector<TimedTransfer> received;  // By this worker.
  // What stages hold between programs, per device.
  std::vector<MemoryPoint> memory;
  double wire_seconds = 0;  // Spent waiting for other workers.
};

// One worker's part in a step.
struct WorkerRecord {
  double seconds = 0;
  double busy_seconds = 0;   // In programs.
  double wire_seconds = 0;   // Spent waiting for other workers.
  int64_t memory_bytes = 0;  // That its programs take per device.
};

struct StepReport {
  double seconds = 0;
  std::optional<double> loss;
  std::vector<RankRecord> ranks;
  int64_t memory_bytes = 0;  // Of programs in this process, per device.
  int64_t wire_bytes = 0;    // Between workers.
  std::vector<WorkerRecord> workers;  // Those that are other processes.
  // If a dataset feeds the job: samples consumed after this step.
  std::optional<int64_t> position;
};

// State `from` of one job is parameter `to` of another.
struct SharedParameter {
  int64_t from = 0;
  int64_t to = 0;
};

class Executor;
class RemoteSite;

// A save in progress.
class StateWrite {
 public:
  virtual ~StateWrite() = default;
  // Waits until all files are written; returns them by file of the plan
  // (PlanSave). May be called from any thread if the state was copied.
  virtual absl::StatusOr<std::vector<WrittenFile>> Await() = 0;
};

class JobSite {
 public:
  using StepEvent = std::function<void(int64_t number, const StepReport&)>;

  virtual ~JobSite() = default;

  // Called after every step, once all workers have run it, on the thread that
  // runs steps.
  void OnStep(StepEvent event) { on_step_ = std::move(event); }

  // Sets the number of the next step; used after a restore.
  void NumberStepsFrom(int64_t step) { step_offset_ = step - steps_run(); }

  virtual const Job& job() const = 0;

  // From the next step on, parameters come from a dataset (data/), read where
  // the devices are; null: no more. kInvalidArgument if it cannot be read, and
  // there is none then.
  absl::Status Feed(const DatasetSpec* spec, int64_t position);
  std::optional<int64_t> position() const { return position_; }

  // Devices get the shard of an array that has the size of its place
  // (shard_transfer.h). What is staged (`at.batch`) may come from any thread,
  // while steps run.
  virtual absl::Status Set(const ParameterShard& at,
                           const GivenArray& whole) = 0;
  // From the next step on, what was staged under this number is used. What was
  // staged under lower ones is dropped.
  virtual absl::Status TakeStaged(int64_t batch) = 0;
  // Runs `count` steps. kFailedPrecondition if a parameter has no value.
  virtual absl::StatusOr<std::vector<StepReport>> Steps(int64_t count) = 0;
  // Each of the shards into its place, of exactly as many bytes.
  virtual absl::Status Read(absl::Span<const ShardAt> shards,
                            absl::Span<const absl::Span<std::byte>> into) = 0;
  // A whole array, of exactly as many bytes.
  virtual absl::Status ReadWhole(ShardAt::Kind kind, int64_t index,
                                 absl::Span<std::byte> whole) = 0;

  // Loads a job that computes the state of this one (init_job.h) on the same
  // devices; it must be destroyed before this one.
  virtual absl::StatusOr<std::unique_ptr<JobSite>> LoadInit(JobSource init) = 0;
  // Makes its outputs, once it has run, these parameters, and ends it.
  virtual absl::Status Adopt(JobSite& init,
                             const std::vector<int64_t>& parameters) = 0;

  // Whether `other` runs on the same devices, so that arrays can be shared.
  virtual bool IsBeside(JobSite& other) const = 0;
  // Makes arrays of a job beside this one parameters of this one; every device
  // has the same shards of both. They are shared: a step of either job that
  // changes one ends it for the other.
  virtual absl::Status Share(JobSite& from,
                             const std::vector<SharedParameter>& pairs) = 0;
  // These parameters have no values any more.
  virtual absl::Status Drop(const std::vector<int64_t>& parameters) = 0;

  // Writes the state's files to an existing folder. With `copy`, returns as
  // soon as the state may change again.
  virtual absl::StatusOr<std::unique_ptr<StateWrite>> BeginSave(
      const StateMap& map, const std::string& folder, bool copy) = 0;
  // Loads each device's part of a checkpoint with these tensors.
  virtual absl::Status ReadState(const StateMap& map,
                                 const std::string& folder) = 0;

  // Ends what is running on other machines, from any thread. Local jobs ignore
  // it.
  virtual void Abort(const absl::Status&) {}

  // The executor, if all of the job runs in this process.
  virtual Executor* executor() { return nullptr; }
  // Itself, if it is on workers.
  virtual const RemoteSite* remote_site() const { return nullptr; }

 protected:
  virtual absl::Status FeedWorkers(const DatasetSpec* spec,
                                   int64_t position) = 0;
  // Call when all workers have run a step.
  void Complete(int64_t number, StepReport& report);
  // Since the job was loaded.
  virtual int64_t steps_run() const = 0;
  // The difference between visible step numbers and steps_run().
  int64_t step_offset() const { return step_offset_; }

 private:
  StepEvent on_step_;
  std::optional<int64_t> position_;  // If there is a dataset.
  int64_t batch_ = 0;                // Its batch size.
  int64_t step_offset_ = 0;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_JOB_SITE_H_
