// Runs a job on the devices of one worker. Everything that runs steps uses this
// class.
//
//   MW_ASSIGN_OR_RETURN(auto executor, Executor::Create(
//       std::move(job), programs, {.client = client.get()}));
//   executor->Set({.parameter = 0, .devices = {0, 1}}, shard);
//   executor->Steps(/*first=*/0, /*count=*/10, [](int64_t number,
//                                                 StepReport report) {...});
//
// A job with a single worker is all here; for others, the executors of all
// workers run the same steps and communicate over the wire. Every rank with
// devices here has a thread that runs its row of the timetable. State stays on
// the devices. Not thread-safe.
#ifndef MESHWRIGHT_RUNTIME_EXECUTOR_H_
#define MESHWRIGHT_RUNTIME_EXECUTOR_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "meshwright/base/stopwatch.h"
#include "meshwright/engine/client.h"
#include "meshwright/runtime/action_log.h"
#include "meshwright/runtime/compile_cache.h"
#include "meshwright/runtime/courier.h"
#include "meshwright/runtime/data_feed.h"
#include "meshwright/runtime/job.h"
#include "meshwright/runtime/job_site.h"
#include "meshwright/runtime/rank_threads.h"
#include "meshwright/runtime/shipper.h"
#include "meshwright/runtime/staged_batches.h"
#include "meshwright/runtime/staged_rank.h"
#include "meshwright/runtime/tile_mover.h"
#include "meshwright/wire/wire.h"

namespace meshwright {

struct RunningStep;

class Executor {
 public:
  // What is pointed to must outlive it.
  struct Options {
    Client* client = nullptr;
    int worker = 0;        // Index among the job's workers.
    Wire* wire = nullptr;  // To the job's other workers, if any.
    OptionMap xla_overrides = {};
    ActionLog* log = nullptr;       // Of what begins; may be null.
    CompileCache* cache = nullptr;  // May be null.
  };

  // Compiles `programs` (write_programs.h). kInvalidArgument if the worker has
  // fewer devices than the job uses.
  static absl::StatusOr<std::unique_ptr<Executor>> Create(
      Job job, const std::vector<std::string>& programs,
      const Options& options);

  const Job& job() const { return programs_.job; }
  Client* client() const { return options_.client; }
  int worker() const { return options_.worker; }
  // By program; null if none of its devices is here.
  const std::vector<std::unique_ptr<Executable>>& executables() const {
    return programs_.executables;
  }

  // Takes effect with the next step. kInvalidArgument if it cannot run, or
  // places stages differently.
  absl::Status SetTimetable(Timetable timetable);
  // Sets it on those of the devices that are here.
  absl::Status Set(const ParameterShard& at, Tensor shard);
  absl::Status Set(const ParameterShard& at, const HostArray& shard);
  // As in JobSite; what is staged may be set on any thread.
  absl::Status TakeStaged(int64_t batch);
  // From the next step on, the parameters that the dataset names are its
  // consecutive batches, starting at `position`; null: they keep their values.
  // kInvalidArgument if the dataset cannot be read, and there is none then.
  absl::Status Feed(const DatasetSpec* spec, int64_t position);
  // Runs `count` steps; their numbers are the same on all workers. `done` is
  // called for each, in order, once it has run; its error ends the loop.
  // Accelerators are given the next step while they run one. After an error no
  // more steps run.
  using StepDone = std::function<absl::Status(int64_t number, StepReport)>;
  absl::Status Steps(int64_t first, int64_t count, const StepDone& done);
  // Requires: the device is here.
  absl::StatusOr<Tensor> Read(const ShardAt& at) const;
  // Into exactly as many bytes as the shard has. Thread-safe.
  absl::Status Read(const ShardAt& at, absl::Span<std::byte> bytes) const;
  absl::StatusOr<BufferShape> ShapeOf(const ShardAt& at) const;
  bool IsHere(const ShardAt& at) const;
  // Makes the outputs of a job on the same devices (init_job.h), which has run,
  // these parameters.
  absl::Status Adopt(Executor& init, const std::vector<int64_t>& parameters);
  // As JobSite::Share. kInvalidArgument if the devices have other shards.
  absl::Status Share(const Executor& from,
                     const std::vector<SharedParameter>& pairs);
  void Drop(const std::vector<int64_t>& parameters);

 private:
  Executor(Job job, const Options& options);

  absl::Status FindDevices();
  absl::StatusOr<std::vector<int>> DeviceIds(StageId stage) const;
  absl::Status Compile(const std::vector<std::string>& programs);
  absl::Status UploadNumbers();
  void FindRanks();
  absl::Status TakeBatch();
  absl::Status CheckGiven() const;
  absl::Status Stage(const ParameterShard& at, const HostArray& shard);
  // How many steps may be under way at once.
  int64_t StepsAtOnce() const;
  absl::StatusOr<std::unique_ptr<RunningStep>> Start(int64_t number,
                                                     bool is_awaited);
  absl::StatusOr<StepReport> Finish(RunningStep& step);
  // Shares an array of another job with this stage.
  absl::Status ShareOn(StageId stage, const Executor& from,
                       const SharedParameter& pair);
  StageId StageOf(const ShardAt& at) const;
  absl::StatusOr<const OwnArray*> ArrayOf(const ShardAt& at) const;
  absl::StatusOr<const Buffer*> BufferOf(const ShardAt& at) const;

  const Options options_;
  StagedPrograms programs_;
  Routes routes_;
  TileMover mover_;
  std::unique_ptr<Shipper> shipper_;  // Null without a wire.
  StagedInputs inputs_;
  StagedBatches staged_;
  bool is_given_ = false;   // CheckGiven() has succeeded.
  std::vector<int> ranks_;  // With devices here.
  std::unique_ptr<RankThreads> threads_;
  std::map<int64_t, SharedArray> outputs_;  // Of the last step, by value.
  absl::Status failure_;
  std::unique_ptr<DataFeed> feed_;  // Null: there is none.
  Stopwatch since_finish_;          // Of the last step that has run.
};

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_EXECUTOR_H_
