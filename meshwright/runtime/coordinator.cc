#include "meshwright/runtime/coordinator.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/runtime/collective_options.h"
#include "meshwright/runtime/load_on_team.h"
#include "meshwright/runtime/renew_workers.h"
#include "meshwright/runtime/write_programs.h"

namespace meshwright {
namespace {

proto::WorkerCommand ShutdownWith(const absl::Status& status) {
  proto::WorkerCommand command;
  command.mutable_shutdown()->set_why(
      status.ok() ? "the coordinator ends" : std::string(status.message()));
  command.mutable_shutdown()->set_code(static_cast<int>(status.code()));
  return command;
}

// "gpu02" and "gpu02.cluster" are one.
bool IsSameHost(absl::string_view one, absl::string_view other) {
  if (one.size() > other.size()) std::swap(one, other);
  return absl::ConsumePrefix(&other, one) && !one.empty() &&
         (other.empty() || other.front() == '.');
}

}  // namespace

Coordinator::Coordinator(Options options)
    : hosts_(std::move(options.hosts)),
      watch_(std::make_shared<WorkerWatch>(options.limits,
                                           std::move(options.obituary))) {}

Coordinator::~Coordinator() { EndWorkers(); }

void Coordinator::EndWorkers(const absl::Status& with) {
  Team all;
  {
    const std::lock_guard lock(mutex_);
    if (!is_over_) end_ = with;
    is_over_ = true;
    all = workers_;
  }
  for (const std::shared_ptr<RemoteWorker>& worker : all) {
    // Workers that are lost need not be told.
    worker->Post(ShutdownWith(with)).IgnoreError();
  }
}

void Coordinator::ForgetLost(size_t kept) {
  const std::lock_guard lock(mutex_);
  size_t lost = std::ranges::count_if(
      workers_, [](const auto& one) { return !one->health().ok(); });
  std::erase_if(workers_, [&](const auto& one) {
    if (one->health().ok() || lost <= kept) return false;
    --lost;
    return true;
  });
}

void Coordinator::Admit(std::unique_ptr<WorkerLink> link) {
  const proto::Hello hello = link->hello();
  std::shared_ptr<RemoteWorker> worker;
  {
    const std::lock_guard lock(mutex_);
    if (is_over_) {
      link->Send(ShutdownWith(end_)).IgnoreError();
      return;
    }
    const int number = hello.rank() >= 0 ? hello.rank() : next_number_++;
    for (const std::shared_ptr<RemoteWorker>& other : workers_) {
      if (hello.rank() < 0 || other->hello().rank() != hello.rank() ||
          !other->health().ok()) {
        continue;
      }
      link->Send(ShutdownWith(absl::FailedPreconditionError(
                     absl::StrCat("there is a worker of rank ", hello.rank(),
                                  " already: ", other->name()))))
          .IgnoreError();
      return;
    }
    worker = std::make_shared<RemoteWorker>(
        absl::StrCat("worker ", number, " (pid ", hello.pid(), " on ",
                     hello.host(), ")"),
        std::move(link));
    proto::WorkerCommand command;
    command.mutable_welcome()->set_worker(number);
    command.mutable_welcome()->set_name(worker->name());
    // If it has left already, its reader reports that.
    worker->Post(std::move(command)).IgnoreError();
    workers_.push_back(worker);
    std::ranges::stable_sort(workers_, {}, [this](const auto& one) {
      return PlaceOf(one->hello());
    });
  }
  worker->Start([watch = watch_] { watch->Notify(); });
  watch_->Notify();
}

int64_t Coordinator::PlaceOf(const proto::Hello& hello) const {
  if (hello.rank() >= 0) return hello.rank();
  const auto host = std::ranges::find_if(hosts_, [&](const std::string& name) {
    return name == hello.address() || IsSameHost(name, hello.host());
  });
  return host == hosts_.end() ? INT32_MAX : host - hosts_.begin();
}

Team Coordinator::workers() const {
  const std::lock_guard lock(mutex_);
  return workers_;
}

absl::Status Coordinator::AwaitWorkers(int count, absl::Duration timeout) {
  absl::Status lost;
  const absl::Status status = watch_->Wait({}, timeout, [&] {
    lost = watch_->FindLost(workers());
    return !lost.ok() || std::ssize(workers()) >= count;
  });
  MW_RETURN_IF_ERROR(lost);
  if (status.ok()) return status;
  return absl::DeadlineExceededError(absl::StrCat(
      workers().size(), " of ", count, " workers have joined within ",
      absl::FormatDuration(timeout)));
}

absl::StatusOr<Team> Coordinator::Place(Job& job) const {
  Team team;
  std::vector<int64_t> devices;
  for (const std::shared_ptr<RemoteWorker>& worker : workers()) {
    if (!worker->health().ok()) continue;
    team.push_back(worker);
    devices.push_back(worker->hello().devices());
  }
  MW_RETURN_IF_ERROR(PlaceJob(devices, job));
  team.resize(job.workers());
  return team;
}

absl::StatusOr<Team> Coordinator::PlaceAnew(Job& job) {
  MW_ASSIGN_OR_RETURN(Team team, Place(job));
  while (job.SpansWorkers() &&
         CollectivesCrossProcesses(team[0]->hello().platform())) {
    MW_ASSIGN_OR_RETURN(const bool renewed,
                        RenewWorkers(team, *watch_, [&] { return workers(); }));
    if (!renewed) break;
    // Other workers may have joined or left meanwhile.
    MW_ASSIGN_OR_RETURN(team, Place(job));
  }
  return team;
}

std::shared_ptr<const JobNumber> Coordinator::NextNumber(
    const RemoteSite* beside) {
  const std::lock_guard lock(mutex_);
  if (beside == nullptr) calls_.clear();
  const auto free = std::ranges::find_if(
      calls_, [](const auto& one) { return one.expired(); });
  const int64_t n = free - calls_.begin();
  const auto number = std::make_shared<const JobNumber>(
      JobNumber{.id = next_job_++,
                .beside = beside != nullptr ? beside->number() : 0,
                .calls = CallsOf(n)});
  if (free == calls_.end()) {
    calls_.push_back(number);
  } else {
    *free = number;
  }
  return number;
}

absl::StatusOr<std::unique_ptr<RemoteSite>> Coordinator::Load(
    JobSource source, const RemoteSite* beside) {
  Team team;
  if (beside == nullptr) {
    MW_ASSIGN_OR_RETURN(team, PlaceAnew(source.job));
  } else {
    MW_ASSIGN_OR_RETURN(team, Place(source.job));
    // Devices that were opened alone are not those of a team, and the other way
    // round (worker_engine.h).
    const bool is_opened_otherwise =
        CollectivesCrossProcesses(team[0]->hello().platform()) &&
        source.job.SpansWorkers() != beside->job().SpansWorkers();
    if (team != beside->team() || is_opened_otherwise) {
      return absl::FailedPreconditionError(
          "the job needs other workers than the one that is loaded, or needs "
          "them otherwise");
    }
  }
  const std::shared_ptr<const JobNumber> number = NextNumber(beside);
  const absl::StatusOr<double> seconds =
      LoadOnTeam(source, *number, team, *watch_);
  if (beside != nullptr) {
    // Nothing is left of it on workers.
    MW_RETURN_IF_ERROR(seconds.status());
  } else {
    // Remaining reports on the previous job.
    for (const auto& worker : team) worker->ForgetReports();
  }
  auto site = std::make_unique<RemoteSite>(std::move(source.job), number, team,
                                           watch_, seconds.value_or(0));
  MW_RETURN_IF_ERROR(seconds.status());
  return site;
}

}  // namespace meshwright
