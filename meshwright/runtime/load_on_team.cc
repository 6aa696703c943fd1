#include "meshwright/runtime/load_on_team.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/runtime/content_hash.h"
#include "meshwright/runtime/job_spec.h"
#include "meshwright/runtime/write_programs.h"

namespace meshwright {
namespace {

// Of workers that run one program together. Of two versions of a plug-in, each
// compiles it as it likes: devices of one could wait for what the other has
// optimised away, or compute with other roundings.
absl::Status CheckPlugins(const Job& job, const Team& team) {
  if (!job.SpansWorkers()) return absl::OkStatus();
  const RemoteWorker& first = *team[0];
  const auto refuse = [&](const RemoteWorker& worker, absl::string_view what,
                          absl::string_view one, absl::string_view other,
                          absl::string_view needs) {
    return absl::InvalidArgumentError(absl::StrCat(
        first.name(), " has ", what, " ", absl::CHexEscape(one), ", ",
        worker.name(), " ", absl::CHexEscape(other),
        "; a stage that several workers share needs one ", needs));
  };
  for (const std::shared_ptr<RemoteWorker>& worker : team) {
    const proto::Hello& here = first.hello();
    const proto::Hello& there = worker->hello();
    if (here.platform() != there.platform()) {
      return refuse(*worker, "devices of", here.platform(), there.platform(),
                    "kind");
    }
    if (here.plugin() != there.plugin()) {
      return refuse(*worker, "the plug-in", here.plugin(), there.plugin(),
                    "version; install the same");
    }
  }
  return absl::OkStatus();
}

absl::Status SendPrograms(const JobSource& source, JobNumber job,
                          const Team& team, absl::Duration wire_timeout,
                          std::vector<uint64_t>& ids) {
  JobSpec spec{.id = job.id, .wire_timeout = wire_timeout};
  for (const std::shared_ptr<RemoteWorker>& worker : team) {
    spec.worker_names.push_back(worker->name());
  }
  for (size_t number = 0; number < team.size(); ++number) {
    RemoteWorker& worker = *team[number];
    worker.ForgetBlobs();
    MW_ASSIGN_OR_RETURN(const std::vector<std::string> programs,
                        WritePrograms(source, static_cast<int>(number),
                                      job.calls, worker.hello().platform()));
    spec.code_hashes.clear();
    for (const std::string& code : programs) {
      spec.code_hashes.push_back(code.empty() ? "" : ContentHash(code));
      if (code.empty()) continue;
      MW_RETURN_IF_ERROR(worker.SendBlob(spec.code_hashes.back(), code));
    }
    const std::string bytes = WriteJobSpec(spec, source.job);
    const std::string hash = ContentHash(bytes);
    MW_RETURN_IF_ERROR(worker.SendBlob(hash, bytes));
    proto::WorkerCommand command;
    proto::LoadJob& load = *command.mutable_load();
    load.set_job(job.id);
    load.set_beside(job.beside);
    load.set_calls(job.calls);
    load.set_spec_hash(hash);
    load.set_member(static_cast<int>(number));
    MW_ASSIGN_OR_RETURN(ids.emplace_back(), worker.Command(std::move(command)));
  }
  return absl::OkStatus();
}

// Waits until all workers have compiled; after an error, only if the job is
// loaded beside another one, which those that compile would keep waiting.
absl::StatusOr<double> Load(const JobSource& source, JobNumber number,
                            const Team& team, WorkerWatch& watch,
                            const std::function<absl::Status()>& aborted) {
  std::vector<uint64_t> ids;
  absl::Status failed =
      SendPrograms(source, number, team, watch.limits().wire(), ids);
  if (!failed.ok()) MW_RETURN_IF_ERROR(watch.FindLost(team));
  double seconds = 0;
  MW_RETURN_IF_ERROR(watch.Wait(team, absl::InfiniteDuration(), [&] {
    for (size_t i = 0; i < ids.size(); ++i) {
      proto::Reply reply;
      if (ids[i] == 0 || !team[i]->TakeReply(ids[i], &reply)) {
        continue;
      }
      ids[i] = 0;
      seconds = std::max(seconds, reply.compile_seconds());
      failed.Update({static_cast<absl::StatusCode>(reply.code()),
                     absl::StrCat(team[i]->name(), ": ", reply.message())});
    }
    if (!failed.ok() && number.beside == 0) return true;
    // Workers drop what they have not begun when they abort.
    if (const absl::Status why =
            aborted != nullptr ? aborted() : absl::OkStatus();
        !why.ok()) {
      failed = why;
      return true;
    }
    return std::ranges::all_of(ids, [](uint64_t left) { return left == 0; });
  }));
  MW_RETURN_IF_ERROR(failed);
  return seconds;
}

}  // namespace

absl::StatusOr<double> LoadOnTeam(
    const JobSource& source, JobNumber number, const Team& team,
    WorkerWatch& watch, const std::function<absl::Status()>& aborted) {
  MW_RETURN_IF_ERROR(CheckPlugins(source.job, team));
  absl::StatusOr<double> seconds = Load(source, number, team, watch, aborted);
  if (seconds.ok()) return seconds;
  if (number.beside != 0) {
    UnloadFromTeam(number, team);
    return seconds;
  }
  // The others may be waiting for the one that failed.
  for (const std::shared_ptr<RemoteWorker>& worker : team) {
    proto::WorkerCommand command;
    command.mutable_abort()->set_why(std::string(seconds.status().message()));
    worker->history().Spoil();
    // A lost worker does not wait.
    worker->Post(std::move(command)).IgnoreError();
  }
  return seconds;
}

void UnloadFromTeam(JobNumber number, const Team& team) {
  for (const std::shared_ptr<RemoteWorker>& worker : team) {
    proto::WorkerCommand command;
    command.set_job(number.id);
    command.mutable_unload();
    // A lost worker has nothing to unload.
    worker->Post(std::move(command)).IgnoreError();
  }
}

}  // namespace meshwright
