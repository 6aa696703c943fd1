// A job on a worker: its executor, and what that needs.
#ifndef MESHWRIGHT_RUNTIME_LOADED_JOB_H_
#define MESHWRIGHT_RUNTIME_LOADED_JOB_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/runtime/action_log.h"
#include "meshwright/runtime/attached_memories.h"
#include "meshwright/runtime/executor.h"
#include "meshwright/runtime/job_spec.h"
#include "meshwright/runtime/worker_link.h"
#include "meshwright/wire/wire.h"

namespace meshwright {

class CrossCollectives;

class LoadedJob {
 public:
  // `calls` is that of WritePrograms: no other job of this process has it.
  // `wire` is null if the job has one worker; `cache` may be null. The client
  // must outlive it.
  static absl::StatusOr<std::unique_ptr<LoadedJob>> Create(
      JobSpec spec, int member, int64_t calls,
      std::vector<std::string> programs, Client* client,
      std::shared_ptr<Wire> wire, CompileCache* cache);
  ~LoadedJob();

  // Part of a shard; the last part sets the shard. Of one that is staged, parts
  // may come on another thread than that of the other calls.
  absl::Status Set(const proto::TensorPart& part);
  // The shard of a whole array that somebody lends: lets go of `owner` when
  // devices have it.
  absl::Status SetLent(const proto::TensorPart& part,
                       absl::Span<const std::byte> whole,
                       std::shared_ptr<const void> owner);
  absl::Status TakeStaged(int64_t batch) {
    return executor_->TakeStaged(batch);
  }
  absl::Status Feed(const proto::FeedData& feed);
  // As in Executor; calls `send` for each step that has run.
  absl::Status Steps(const proto::RunSteps& run,
                     const std::function<absl::Status(proto::StepDone)>& send);
  // Puts the requested arrays where they are wanted in memory, or calls `send`
  // with them, in parts. kInvalidArgument if one is not here.
  absl::Status Read(const proto::ReadArrays& what, uint64_t id,
                    const AttachedMemories& memories,
                    const std::function<absl::Status(proto::TensorPart)>& send);
  // Writes this worker's files: now or, if the state is copied, on a thread of
  // its own. In either case calls `send` with the result or failure.
  absl::Status Save(const proto::SaveState& what,
                    const std::function<absl::Status(proto::SavedFiles)>& send);
  // kInvalidArgument for anything wrong with the checkpoint.
  absl::Status Restore(const proto::RestoreState& what);
  // As in Executor.
  absl::Status Adopt(LoadedJob& init, const std::vector<int64_t>& parameters) {
    MW_RETURN_IF_ERROR(init.CheckCollectives());
    return executor_->Adopt(*init.executor_, parameters);
  }
  absl::Status Share(const LoadedJob& from, const proto::ShareState& what);
  void Drop(const proto::DropState& what) {
    executor_->Drop({what.parameters().begin(), what.parameters().end()});
  }
  const std::shared_ptr<Wire>& wire() const { return wire_; }
  // Ends a running step; may be called from any thread.
  void Abort(const absl::Status& why);

  const ActionLog& log() const { return log_; }

 private:
  explicit LoadedJob(std::shared_ptr<Wire> wire) : wire_(std::move(wire)) {}

  absl::Status CheckPart(const proto::TensorPart& part) const;
  absl::Status ReadInto(const ShardAt& at, const proto::SharedRegion& region,
                        const AttachedMemories& memories) const;
  // After the first error of a collective, programs compute with zeros, and the
  // state is of no use.
  absl::Status CheckCollectives() const;

  const std::shared_ptr<Wire> wire_;
  std::unique_ptr<CrossCollectives> collectives_;
  ActionLog log_;
  std::unique_ptr<Executor> executor_;
  std::thread writer_;  // Of the most recent copy.
  int64_t memory_bytes_ = 0;
  // Incomplete shards, by batch, parameter, stage, micro-batch and first
  // device.
  struct Coming {
    BufferShape shape = {};
    int64_t bytes = 0;
    std::shared_ptr<char> data = nullptr;
  };
  std::mutex coming_mutex_;  // Of the map; each shard is one thread's.
  std::map<std::tuple<int64_t, int64_t, int32_t, int64_t, int64_t>, Coming>
      coming_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_LOADED_JOB_H_
