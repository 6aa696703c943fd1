#include "meshwright/runtime/worker.h"

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/base/stopwatch.h"
#include "meshwright/crossing/cross_collectives.h"
#include "meshwright/runtime/abortable_store.h"
#include "meshwright/runtime/attached_memories.h"
#include "meshwright/runtime/content_hash.h"
#include "meshwright/runtime/late_replies.h"
#include "meshwright/runtime/loaded_job.h"
#include "meshwright/runtime/stuck_guard.h"
#include "meshwright/runtime/write_programs.h"

namespace meshwright {

// Executes commands one after another on its own thread.
class Worker::Desk {
 public:
  Desk(CoordinatorLink* link, Options options)
      : link_(*link),
        options_(std::move(options)),
        late_replies_(link),
        guard_(options_.stuck_after, [this] { TellStuck(); }),
        thread_([this] { Work(); }) {}

  ~Desk() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  void Put(proto::WorkerCommand command) {
    {
      const std::lock_guard lock(mutex_);
      commands_.push_back(std::move(command));
    }
    changed_.notify_all();
  }

  // Data of a later step, while one runs.
  void Stage(const proto::WorkerCommand& command);
  // Memory that commands may name.
  void Map(const proto::WorkerCommand& command) {
    late_replies_.Make(command.id())->status =
        memories_.Attach(command.map().memory());
  }
  void Unmap(const proto::UnmapMemory& unmap) {
    memories_.Detach(unmap.memory());
  }

  // Ends the step or the loading that is in progress; `is_end`: and the worker.
  void Abort(const absl::Status& why, bool is_end) {
    Jobs jobs;
    std::shared_ptr<AbortableStore> store;
    {
      const std::lock_guard lock(mutex_);
      jobs = jobs_;
      store = store_;
      why_aborted_ = why;
      is_ending_ |= is_end;
    }
    if (store != nullptr) store->Abort(why);
    for (const auto& [number, job] : jobs) job->Abort(why);
    guard_.Expire();
  }

  // Drops commands that have not begun.
  void Clear() {
    std::deque<proto::WorkerCommand> dropped;
    {
      const std::lock_guard lock(mutex_);
      dropped.swap(commands_);
    }
    for (const proto::WorkerCommand& command : dropped) {
      if (const auto late = LateReplyTo(command)) {
        late->status = absl::AbortedError("the job was ended");
      }
    }
  }

  std::vector<std::string> LastActions() const {
    const std::lock_guard lock(mutex_);
    const auto last = jobs_.find(last_);
    return last != jobs_.end() ? last->second->log().Last()
                               : std::vector<std::string>();
  }

 private:
  void TellStuck() {
    if (options_.stuck == nullptr) return;
    absl::Status why;
    bool is_end = false;
    {
      const std::lock_guard lock(mutex_);
      why = why_aborted_;
      is_end = is_ending_;
    }
    options_.stuck(why, is_end);
  }
  using LateReply = std::shared_ptr<LateReplies::Reply>;
  // Null if the command needs none: it names no memory that is to be set free.
  LateReply LateReplyTo(const proto::WorkerCommand& command) const {
    return command.set().has_region() ? late_replies_.Make(command.id())
                                      : nullptr;
  }
  void Work();
  absl::Status CarryOut(const proto::WorkerCommand& command,
                        const LateReply& late, proto::Reply& reply);
  absl::Status Set(const proto::TensorPart& part, const LateReply& late,
                   LoadedJob& job) const;
  void Keep(const proto::Blob& blob);
  absl::Status Load(const proto::LoadJob& load, proto::Reply& reply);
  absl::Status Run(const proto::RunSteps& run, LoadedJob& job);
  absl::StatusOr<LoadedJob*> Find(int64_t job) const;
  // Those that are beside each other share a wire.
  using Jobs = std::map<int64_t, std::shared_ptr<LoadedJob>>;
  void Unload(int64_t job);
  void UnloadAll();
  absl::Status Send(proto::WorkerReport report) {
    return link_.Send(std::move(report));
  }

  CoordinatorLink& link_;
  const Options options_;
  const LateReplies late_replies_;
  AttachedMemories memories_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<proto::WorkerCommand> commands_;
  bool is_over_ = false;
  absl::Status why_aborted_;
  bool is_ending_ = false;
  std::shared_ptr<AbortableStore> store_;  // The job's key-value store.
  Jobs jobs_;                              // Changed by the thread only.
  std::mutex staging_;  // Held where a job is staged for, or unloaded.
  int64_t last_ = 0;    // The job of the last command.
  // By hash, until the next load; used only by the thread. Of those that are
  // incomplete, the parts that have come.
  using Blobs = std::map<std::string, std::string>;
  Blobs blobs_;
  Blobs incomplete_;
  StuckGuard guard_;
  std::thread thread_;
};

void Worker::Desk::Work() {
  while (true) {
    proto::WorkerCommand command;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return is_over_ || !commands_.empty(); });
      if (is_over_) return;
      command = std::move(commands_.front());
      commands_.pop_front();
      last_ = command.has_load() ? command.load().job() : command.job();
      if (command.has_load() && command.load().beside() == 0) {
        store_ = std::make_shared<AbortableStore>(&link_.store());
      }
    }
    proto::WorkerReport report;
    proto::Reply& reply = *report.mutable_reply();
    reply.set_id(command.id());
    const LateReply late = LateReplyTo(command);
    guard_.Enter();
    const absl::Status status = CarryOut(command, late, reply);
    guard_.Leave();
    if (late != nullptr) {
      late->status = status;
      continue;
    }
    reply.set_code(static_cast<int>(status.code()));
    reply.set_message(std::string(status.message()));
    // A command without id gets a reply only if it fails.
    if (command.id() == 0 && status.ok()) continue;
    // If the connection ends, its reader notices.
    Send(std::move(report)).IgnoreError();
  }
}

absl::Status Worker::Desk::CarryOut(const proto::WorkerCommand& command,
                                    const LateReply& late,
                                    proto::Reply& reply) {
  switch (command.command_case()) {
    case proto::WorkerCommand::kBlob:
      Keep(command.blob());
      return absl::OkStatus();
    case proto::WorkerCommand::kWelcome:
      return absl::OkStatus();
    case proto::WorkerCommand::kLoad:
      return Load(command.load(), reply);
    case proto::WorkerCommand::kUnload:
      Unload(command.job());
      return absl::OkStatus();
    default:
      break;
  }
  MW_ASSIGN_OR_RETURN(LoadedJob* const found, Find(command.job()));
  LoadedJob& job = *found;
  switch (command.command_case()) {
    case proto::WorkerCommand::kSet:
      return Set(command.set(), late, job);
    case proto::WorkerCommand::kTake:
      return job.TakeStaged(command.take().batch());
    case proto::WorkerCommand::kFeed:
      return job.Feed(command.feed());
    case proto::WorkerCommand::kRun:
      return Run(command.run(), job);
    case proto::WorkerCommand::kAdopt: {
      const proto::AdoptState& adopt = command.adopt();
      MW_ASSIGN_OR_RETURN(LoadedJob* const init, Find(adopt.from()));
      const absl::Status adopted = job.Adopt(
          *init, {adopt.parameters().begin(), adopt.parameters().end()});
      Unload(adopt.from());
      return adopted;
    }
    case proto::WorkerCommand::kShare: {
      MW_ASSIGN_OR_RETURN(const LoadedJob* const from,
                          Find(command.share().from()));
      return job.Share(*from, command.share());
    }
    case proto::WorkerCommand::kDrop:
      job.Drop(command.drop());
      return absl::OkStatus();
    case proto::WorkerCommand::kSave:
      return job.Save(command.save(), [this](proto::SavedFiles saved) {
        proto::WorkerReport report;
        *report.mutable_saved() = std::move(saved);
        return Send(std::move(report));
      });
    case proto::WorkerCommand::kRestore:
      return job.Restore(command.restore());
    case proto::WorkerCommand::kRead:
      return job.Read(command.read(), command.id(), memories_,
                      [&](proto::TensorPart part) {
                        proto::WorkerReport report;
                        *report.mutable_part() = std::move(part);
                        return Send(std::move(report));
                      });
    default:
      return absl::UnimplementedError("a command of another version");
  }
}

absl::Status Worker::Desk::Set(const proto::TensorPart& part,
                               const LateReply& late, LoadedJob& job) const {
  if (late == nullptr) return job.Set(part);
  MW_ASSIGN_OR_RETURN(AttachedMemories::Found found,
                      memories_.Find(part.region()));
  return job.SetLent(
      part, found.bytes,
      std::make_shared<std::pair<LateReply, AttachedMemories::Found>>(
          late, std::move(found)));
}

void Worker::Desk::Keep(const proto::Blob& blob) {
  std::string& bytes = incomplete_[blob.hash()];
  if (blob.first()) bytes.clear();
  bytes.append(blob.bytes());
  if (!blob.last()) return;
  auto whole = incomplete_.extract(blob.hash());
  // Parts are missing if an abort came between them. Whoever needs it says so.
  if (ContentHash(whole.mapped()) != blob.hash()) return;
  blobs_[blob.hash()] = std::move(whole.mapped());
}

absl::Status Worker::Desk::Load(const proto::LoadJob& load,
                                proto::Reply& reply) {
  const Stopwatch time;
  const int hits = options_.cache != nullptr ? options_.cache->hits() : 0;
  incomplete_.clear();
  const Blobs blobs = std::exchange(blobs_, {});
  const auto find =
      [&](const std::string& hash) -> absl::StatusOr<std::string> {
    const auto found = blobs.find(hash);
    if (found != blobs.end()) return found->second;
    return absl::DataLossError("a program of the job did not arrive whole");
  };
  std::shared_ptr<Wire> wire;
  if (load.beside() != 0) {
    MW_ASSIGN_OR_RETURN(const LoadedJob* const beside, Find(load.beside()));
    wire = beside->wire();
  } else {
    UnloadAll();
  }
  // What is left of it would answer the calls of the new one.
  Unload(load.job());
  MW_ASSIGN_OR_RETURN(const std::string bytes, find(load.spec_hash()));
  MW_ASSIGN_OR_RETURN(JobSpec spec, ReadJobSpec(bytes));
  std::vector<std::string> programs;
  for (const std::string& hash : spec.code_hashes) {
    std::string& code = programs.emplace_back();
    if (hash.empty()) continue;
    MW_ASSIGN_OR_RETURN(code, find(hash));
  }
  if (load.beside() == 0) {
    MW_RETURN_IF_ERROR(
        options_.engine->PrepareFor(spec, load.member(), store_));
  }
  if (wire == nullptr && spec.job.workers() > 1) {
    if (!options_.engine->is_of_team()) {
      MW_RETURN_IF_ERROR(CrossCollectives::Register(*options_.plugin));
    }
    MW_ASSIGN_OR_RETURN(wire,
                        options_.connect(spec, load.member(), store_.get()));
  }
  MW_ASSIGN_OR_RETURN(
      std::shared_ptr<LoadedJob> job,
      LoadedJob::Create(std::move(spec), load.member(), load.calls(), programs,
                        options_.engine->client(), std::move(wire),
                        options_.cache));
  reply.set_compile_seconds(time.seconds());
  if (options_.cache != nullptr) {
    reply.set_programs_cached(options_.cache->hits() - hits);
  }
  const std::lock_guard lock(mutex_);
  jobs_[load.job()] = std::move(job);
  return absl::OkStatus();
}

absl::StatusOr<LoadedJob*> Worker::Desk::Find(int64_t job) const {
  const auto found = jobs_.find(job);
  if (found != jobs_.end()) return found->second.get();
  return absl::FailedPreconditionError("no job is loaded");
}

// Jobs are destroyed without holding the lock, since they may wait for work in
// progress.
void Worker::Desk::Unload(int64_t job) {
  Jobs::node_type unloaded;
  const std::scoped_lock lock(staging_, mutex_);
  unloaded = jobs_.extract(job);
}

void Worker::Desk::UnloadAll() {
  Jobs unloaded;
  const std::scoped_lock lock(staging_, mutex_);
  unloaded.swap(jobs_);
}

void Worker::Desk::Stage(const proto::WorkerCommand& command) {
  const LateReply late = LateReplyTo(command);
  const std::lock_guard staging(staging_);
  LoadedJob* job = nullptr;
  {
    const std::lock_guard lock(mutex_);
    const auto found = jobs_.find(command.job());
    if (found == jobs_.end()) return;  // It was aborted, or is unloaded.
    job = found->second.get();
  }
  const absl::Status status = Set(command.set(), late, *job);
  if (late != nullptr) late->status = status;
  if (status.ok() || late != nullptr) return;
  proto::WorkerReport report;
  report.mutable_reply()->set_code(static_cast<int>(status.code()));
  report.mutable_reply()->set_message(std::string(status.message()));
  Send(std::move(report)).IgnoreError();
}

absl::Status Worker::Desk::Run(const proto::RunSteps& run, LoadedJob& job) {
  return job.Steps(run, [&](proto::StepDone done) {
    proto::WorkerReport report;
    *report.mutable_step() = std::move(done);
    return Send(std::move(report));
  });
}

Worker::Worker(CoordinatorLink* link, Options options)
    : link_(link),
      renew_(options.renew),
      desk_(std::make_unique<Desk>(link, options)),
      heartbeat_(options.heartbeat) {}

Worker::~Worker() = default;

absl::Status Worker::Serve() {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_over = false;
  std::thread heart([&] {
    std::unique_lock lock(mutex);
    while (!changed.wait_for(lock, absl::ToChronoMilliseconds(heartbeat_),
                             [&] { return is_over; })) {
      proto::WorkerReport report;
      proto::Heartbeat& beat = *report.mutable_heartbeat();
      for (std::string& action : desk_->LastActions()) {
        beat.add_actions(std::move(action));
      }
      if (!link_->Send(std::move(report)).ok()) return;
    }
  });
  absl::Status status;
  while (true) {
    absl::StatusOr<proto::WorkerCommand> command = link_->Next();
    if (!command.ok()) {
      status = command.status();
      break;
    }
    if (command->has_shutdown()) {
      status = {static_cast<absl::StatusCode>(command->shutdown().code()),
                command->shutdown().why()};
      break;
    }
    if (command->has_renew()) {
      if (renew_ != nullptr) renew_();
      status = absl::UnavailableError(
          "the coordinator wants this worker to begin anew; start it again");
      break;
    }
    if (command->has_abort()) {
      desk_->Clear();
      desk_->Abort(absl::AbortedError(command->abort().why()), false);
      continue;
    }
    if (command->has_map()) {
      desk_->Map(*command);
      continue;
    }
    if (command->has_unmap()) {
      desk_->Unmap(command->unmap());
      continue;
    }
    if (command->has_set() && command->set().batch() != 0) {
      desk_->Stage(*command);
      continue;
    }
    desk_->Put(*std::move(command));
  }
  desk_->Clear();
  desk_->Abort(status.ok() ? absl::AbortedError("the coordinator ended the job")
                           : status,
               true);
  {
    const std::lock_guard lock(mutex);
    is_over = true;
  }
  changed.notify_all();
  heart.join();
  return status;
}

}  // namespace meshwright
