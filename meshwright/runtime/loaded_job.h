// A job on a worker: its executor, and what that needs.
#ifndef MESHWRIGHT_RUNTIME_LOADED_JOB_H_
#define MESHWRIGHT_RUNTIME_LOADED_JOB_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "meshwright/runtime/action_log.h"
#include "meshwright/runtime/executor.h"
#include "meshwright/runtime/job_spec.h"
#include "meshwright/runtime/worker_link.h"
#include "meshwright/wire/wire.h"

namespace meshwright {

class CrossCollectives;

class LoadedJob {
 public:
  // The wire is null when the job has one worker, the cache if there is none.
  // The client outlives it.
  static absl::StatusOr<std::unique_ptr<LoadedJob>> Create(
      JobSpec spec, int member, std::vector<std::string> programs,
      Client* client, std::shared_ptr<Wire> wire, CompileCache* cache);
  ~LoadedJob();

  // Part of a shard; the last one sets it.
  absl::Status Set(const proto::TensorPart& part);
  absl::Status Feed(const proto::FeedData& feed);
  absl::StatusOr<proto::StepDone> Step(int64_t number, bool timed_actions);
  // Calls `send` with what is asked for, in parts. kInvalidArgument if it is
  // not here.
  absl::Status Read(const proto::ReadArrays& what, uint64_t id,
                    const std::function<absl::Status(proto::TensorPart)>& send);
  // Writes this worker's files, here or, of a copy, on a thread of its own;
  // `send` is told of them in either case, and of failure.
  absl::Status Save(const proto::SaveState& what,
                    const std::function<absl::Status(proto::SavedFiles)>& send);
  // kInvalidArgument for all that is wrong with the checkpoint.
  absl::Status Restore(const proto::RestoreState& what);
  // As Executor's.
  absl::Status Adopt(LoadedJob& init, const std::vector<int64_t>& parameters) {
    return executor_->Adopt(*init.executor_, parameters);
  }
  const std::shared_ptr<Wire>& wire() const { return wire_; }
  // Ends a step that is under way; from any thread.
  void Abort(const absl::Status& why);

  const ActionLog& log() const { return log_; }

 private:
  explicit LoadedJob(std::shared_ptr<Wire> wire) : wire_(std::move(wire)) {}

  absl::Status CheckPart(const proto::TensorPart& part) const;

  const std::shared_ptr<Wire> wire_;
  std::unique_ptr<CrossCollectives> collectives_;
  ActionLog log_;
  std::unique_ptr<Executor> executor_;
  std::thread writer_;  // Of the copy that was made last.
  int64_t memory_bytes_ = 0;
  // Shards of which not all has come: by parameter, stage, micro-batch and the
  // first device.
  std::map<std::tuple<int64_t, int32_t, int64_t, int64_t>, Tensor> coming_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_LOADED_JOB_H_
