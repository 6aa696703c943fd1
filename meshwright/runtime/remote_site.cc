#include "meshwright/runtime/remote_site.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/base/steady_time.h"
#include "meshwright/runtime/remote_write.h"
#include "meshwright/runtime/state_messages.h"
#include "meshwright/runtime/step_done.h"
#include "meshwright/runtime/write_programs.h"

namespace meshwright {
namespace {

absl::Status StatusOf(const proto::Reply& reply) {
  return {static_cast<absl::StatusCode>(reply.code()), reply.message()};
}

// Whether a worker's error is a consequence of another worker's failure.
bool IsConsequence(const absl::Status& status) {
  return status.code() == absl::StatusCode::kUnavailable ||
         status.code() == absl::StatusCode::kAborted ||
         status.code() == absl::StatusCode::kDeadlineExceeded;
}

// Of the user, if it was found before anything ran.
bool IsMistake(const absl::Status& status) {
  return status.code() == absl::StatusCode::kFailedPrecondition ||
         status.code() == absl::StatusCode::kInvalidArgument;
}

}  // namespace

RemoteSite::RemoteSite(Job job, std::shared_ptr<const JobNumber> number,
                       Team team, std::shared_ptr<WorkerWatch> watch,
                       double compile_seconds,
                       std::shared_ptr<Abortion> abortion)
    : job_(std::move(job)),
      number_(std::move(number)),
      team_(std::move(team)),
      watch_(std::move(watch)),
      compile_seconds_(compile_seconds),
      abortion_(std::move(abortion)) {}

RemoteSite::~RemoteSite() {
  if (is_adopted_) return;
  UnloadFromTeam(*number_, team_);
}

void RemoteSite::Abort(const absl::Status& why) {
  {
    const std::lock_guard lock(abortion_->mutex);
    abortion_->why.Update(why);
  }
  for (const std::shared_ptr<RemoteWorker>& worker : team_) {
    worker->history().Spoil();
    proto::WorkerCommand command;
    command.mutable_abort()->set_why(std::string(why.message()));
    // A lost worker has nothing in progress.
    worker->Post(std::move(command)).IgnoreError();
  }
  watch_->Notify();
}

absl::Status RemoteSite::aborted() {
  const std::lock_guard lock(abortion_->mutex);
  return abortion_->why;
}

absl::Status RemoteSite::TakeStaged(int64_t batch) {
  proto::WorkerCommand command;
  command.mutable_take()->set_batch(batch);
  return PostAll(command);
}

absl::StatusOr<std::vector<StepReport>> RemoteSite::Steps(int64_t count) {
  std::vector<StepReport> reports;
  proto::WorkerCommand command;
  proto::RunSteps& run = *command.mutable_run();
  run.set_first(next_step_);
  run.set_count(count);
  run.set_timed_actions(job_.step.stages > 1);
  MW_ASSIGN_OR_RETURN(const Replies ids, CommandAll(command));
  MW_RETURN_IF_ERROR(Await(ids, watch_->limits().step, &reports));
  return reports;
}

absl::Status RemoteSite::FeedWorkers(const DatasetSpec* spec,
                                     int64_t position) {
  proto::WorkerCommand command;
  proto::FeedData& feed = *command.mutable_feed();
  if (spec != nullptr) feed.set_dataset(ToJson(*spec));
  feed.set_position(position);
  const absl::Status fed = Direct(command, watch_->limits().step);
  // If one worker cannot read the dataset, the others must not use it, either.
  if (!fed.ok() && failure_.ok() && spec != nullptr) {
    MW_RETURN_IF_ERROR(FeedWorkers(nullptr, 0));
  }
  return fed;
}

absl::StatusOr<std::unique_ptr<JobSite>> RemoteSite::LoadInit(JobSource init) {
  MW_RETURN_IF_ERROR(failure_);
  // Distinct from the ids of jobs.
  constexpr int64_t kInit = int64_t{1} << 40;
  const auto number = std::make_shared<const JobNumber>(
      JobNumber{.id = kInit + number_->id,
                .beside = number_->id,
                .calls = InitCallsOf(number_->calls)});
  MW_ASSIGN_OR_RETURN(
      const double seconds,
      LoadOnTeam(init, *number, team_, *watch_, [this] { return aborted(); }));
  return std::unique_ptr<JobSite>(new RemoteSite(
      std::move(init.job), number, team_, watch_, seconds, abortion_));
}

absl::Status RemoteSite::Adopt(JobSite& init,
                               const std::vector<int64_t>& parameters) {
  auto& from = static_cast<RemoteSite&>(init);
  from.is_adopted_ = true;
  proto::WorkerCommand command;
  command.mutable_adopt()->set_from(from.number());
  for (const int64_t parameter : parameters) {
    command.mutable_adopt()->add_parameters(parameter);
  }
  return Direct(command, watch_->limits().step);
}

bool RemoteSite::IsBeside(JobSite& other) const {
  return other.executor() == nullptr &&
         static_cast<RemoteSite&>(other).team_ == team_;
}

absl::Status RemoteSite::Share(JobSite& from,
                               const std::vector<SharedParameter>& pairs) {
  proto::WorkerCommand command;
  proto::ShareState& share = *command.mutable_share();
  share.set_from(static_cast<RemoteSite&>(from).number());
  for (const SharedParameter& pair : pairs) {
    proto::ShareState::Pair& one = *share.add_parameters();
    one.set_from(pair.from);
    one.set_to(pair.to);
  }
  return Direct(command, watch_->limits().step);
}

absl::Status RemoteSite::Drop(const std::vector<int64_t>& parameters) {
  proto::WorkerCommand command;
  for (const int64_t parameter : parameters) {
    command.mutable_drop()->add_parameters(parameter);
  }
  return PostAll(command);
}

absl::Status RemoteSite::PostAll(const proto::WorkerCommand& command) {
  MW_RETURN_IF_ERROR(failure_);
  for (const std::shared_ptr<RemoteWorker>& worker : team_) {
    proto::WorkerCommand own = command;
    own.set_job(number_->id);
    const absl::Status sent = worker->Post(std::move(own));
    if (!sent.ok()) return Fail({}, sent);
  }
  return absl::OkStatus();
}

absl::StatusOr<RemoteSite::Replies> RemoteSite::CommandAll(
    const proto::WorkerCommand& command) {
  MW_RETURN_IF_ERROR(failure_);
  Replies ids;
  for (const std::shared_ptr<RemoteWorker>& worker : team_) {
    proto::WorkerCommand own = command;
    own.set_job(number_->id);
    absl::StatusOr<uint64_t> id = worker->Command(std::move(own));
    if (!id.ok()) return Fail(ids, id.status());
    ids.push_back(*id);
  }
  return ids;
}

absl::Status RemoteSite::Direct(const proto::WorkerCommand& command,
                                absl::Duration limit) {
  MW_ASSIGN_OR_RETURN(const Replies ids, CommandAll(command));
  return Await(ids, limit, nullptr);
}

absl::StatusOr<std::unique_ptr<StateWrite>> RemoteSite::BeginSave(
    const StateMap& map, const std::string& folder, bool copy) {
  // Distinct from the numbers of other jobs.
  const uint64_t number =
      (static_cast<uint64_t>(number_->id) << 32) + next_save_++;
  proto::WorkerCommand command;
  proto::SaveState& save = *command.mutable_save();
  save.set_save(number);
  save.set_folder(folder);
  save.set_copy(copy);
  *save.mutable_state() = ToProto(map);
  MW_RETURN_IF_ERROR(Direct(command, absl::InfiniteDuration()));
  return std::make_unique<RemoteWrite>(
      number, std::ssize(PlanSave(map, job_).files), team_, watch_,
      [this] { return aborted(); });
}

absl::Status RemoteSite::ReadState(const StateMap& map,
                                   const std::string& folder) {
  proto::WorkerCommand command;
  command.mutable_restore()->set_folder(folder);
  *command.mutable_restore()->mutable_state() = ToProto(map);
  return Direct(command, absl::InfiniteDuration());
}

void RemoteSite::Merge(std::vector<StepReport>* reports) {
  for (const std::shared_ptr<RemoteWorker>& worker : team_) {
    for (const proto::StepDone& done : worker->TakeSteps()) {
      Underway& step = underway_[done.step()];
      ++step.workers;
      AddTo(done, step.report);
    }
  }
  while (!underway_.empty() && underway_.begin()->first == next_step_ &&
         underway_.begin()->second.workers == workers()) {
    StepReport report = std::move(underway_.begin()->second.report);
    underway_.erase(underway_.begin());
    Complete(next_step_, report);
    ++next_step_;
    if (reports != nullptr) reports->push_back(std::move(report));
  }
}

absl::Status RemoteSite::Await(const Replies& ids, absl::Duration limit,
                               std::vector<StepReport>* reports) {
  Replies left = ids;
  absl::Status failed;
  absl::Status status;
  int64_t steps = 0;
  do {
    // The limit starts anew after every step: it is for steps that hang.
    steps = next_step_;
    status = watch_->Wait(team_, limit, [&] {
      bool is_done = true;
      failed.Update(aborted());
      // Not more of them wait than have just come.
      failed.Update(TakeParts());
      for (size_t number = 0; number < left.size(); ++number) {
        failed.Update(team_[number]->TakeFailure());
        proto::Reply reply;
        if (left[number] != 0 &&
            team_[number]->TakeReply(left[number], &reply)) {
          left[number] = 0;
          const absl::Status own = StatusOf(reply);
          if (!own.ok() && (failed.ok() || IsConsequence(failed))) {
            failed = absl::Status(
                own.code(), workers() > 1 ? absl::StrCat(team_[number]->name(),
                                                         ": ", own.message())
                                          : std::string(own.message()));
          }
        }
        is_done &= left[number] == 0;
      }
      // Reports on steps come before the reply that ends them.
      Merge(reports);
      return is_done || !failed.ok();
    });
  } while (absl::IsDeadlineExceeded(status) && next_step_ > steps);
  if (status.ok() && failed.ok()) return absl::OkStatus();
  if (failure_ = aborted(); !failure_.ok()) return failure_;
  if (status.ok() && IsMistake(failed)) {
    const absl::Duration patience =
        reports == nullptr ? limit : watch_->limits().aftermath;
    if (IsHarmless(left, patience, reports)) return failed;
    if (failure_ = aborted(); !failure_.ok()) return failure_;
  }
  if (absl::IsDeadlineExceeded(status)) {
    status = absl::DeadlineExceededError(
        absl::StrCat("step ", next_step_ + step_offset(),
                     " has not ended within ", absl::FormatDuration(limit)));
  }
  return Fail(left, failed.ok() ? status : failed);
}

bool RemoteSite::IsHarmless(Replies& ids, absl::Duration limit,
                            std::vector<StepReport>* reports) {
  const bool is_step = reports != nullptr;
  const int64_t first = next_step_;
  bool is_heard = false;
  bool is_harmless = true;
  const absl::Status status = watch_->Wait(team_, limit, [&] {
    is_heard = true;
    for (size_t number = 0; number < ids.size(); ++number) {
      proto::Reply reply;
      if (ids[number] != 0 && team_[number]->TakeReply(ids[number], &reply)) {
        ids[number] = 0;
        const absl::Status own = StatusOf(reply);
        is_harmless &= own.ok() ? !is_step : IsMistake(own);
      }
      is_heard &= ids[number] == 0;
    }
    Merge(reports);
    return is_heard || !is_harmless || !aborted().ok();
  });
  return status.ok() && is_heard && is_harmless && next_step_ == first &&
         underway_.empty();
}

absl::Status RemoteSite::Fail(const Replies& ids, absl::Status first) {
  // Before they are told to end.
  const std::string actions = LastActions(team_);
  for (const std::shared_ptr<RemoteWorker>& worker : team_) {
    worker->history().Spoil();
    proto::WorkerCommand command;
    command.mutable_abort()->set_why(std::string(first.message()));
    // A lost worker does not receive it.
    worker->Post(std::move(command)).IgnoreError();
  }
  // The worker that failed first may not be the one that reported first.
  absl::Status cause = first;
  const absl::Time end = SteadyNow() + watch_->limits().aftermath;
  Replies left = ids;
  bool is_heard = false;
  while (!is_heard && SteadyNow() < end && watch_->FindLost(team_).ok()) {
    watch_
        ->Wait({}, absl::Milliseconds(100),
               [&] {
                 is_heard = true;
                 for (size_t number = 0; number < left.size(); ++number) {
                   proto::Reply reply;
                   if (left[number] != 0 &&
                       team_[number]->TakeReply(left[number], &reply)) {
                     left[number] = 0;
                     const absl::Status own = StatusOf(reply);
                     if (!own.ok() && !IsConsequence(own) &&
                         IsConsequence(cause)) {
                       cause = absl::Status(
                           own.code(), absl::StrCat(team_[number]->name(), ": ",
                                                    own.message()));
                     }
                   }
                   is_heard &= left[number] == 0;
                 }
                 return is_heard && !IsConsequence(cause);
               })
        .IgnoreError();
    if (IsConsequence(cause)) is_heard = false;
  }
  const absl::Status lost = watch_->FindLost(team_);
  if (!lost.ok()) cause = lost;
  Merge(nullptr);
  failure_ = absl::Status(
      // It is too late to mend a mistake.
      IsMistake(cause) ? absl::StatusCode::kAborted : cause.code(),
      absl::StrCat(cause.message(),
                   absl::IsDeadlineExceeded(cause)
                       ? absl::StrCat("; the last that workers did:\n", actions)
                       : std::string(),
                   " (step ", next_step_ + step_offset(), " was under way; ",
                   next_step_ == 0
                       ? std::string("no step was complete")
                       : absl::StrCat("all workers completed step ",
                                      next_step_ + step_offset() - 1),
                   ")"));
  return failure_;
}

}  // namespace meshwright
