#include "meshwright/api/served_jobs.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "meshwright/api/load_cluster.h"
#include "meshwright/api/load_step.h"
#include "meshwright/api/plan_options_json.h"
#include "meshwright/api/plan_step.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/base/steady_time.h"
#include "meshwright/base/units.h"
#include "meshwright/base/version.h"
#include "meshwright/planner/price_whole_ops.h"

namespace meshwright {
namespace {

using Json = nlohmann::ordered_json;

constexpr absl::Duration kJobLook = absl::Milliseconds(20);
// That Stop waits for workers to put down what they do.
constexpr absl::Duration kStopPatience = absl::Seconds(10);

absl::Status Over() { return absl::UnavailableError("the coordinator ends"); }

struct Living {
  int64_t workers = 0;
  int64_t devices = 0;
};
Living LivingOf(const Coordinator* coordinator) {
  Living living;
  if (coordinator == nullptr) return living;
  for (const auto& worker : coordinator->workers()) {
    if (!worker->health().ok()) continue;
    ++living.workers;
    living.devices += worker->hello().devices();
  }
  return living;
}

Json Described(const RemoteWorker& worker) {
  const proto::Hello& hello = worker.hello();
  const absl::Status health = worker.health();
  Json json = {{"name", worker.name()},
               {"rank", hello.rank()},
               {"host", hello.host()},
               {"pid", hello.pid()},
               {"address", hello.address()},
               {"platform", hello.platform()},
               {"device_kind", hello.device_kind()},
               {"devices", hello.devices()},
               {"state", health.ok() ? "ready" : "lost"}};
  if (!health.ok()) json["why"] = std::string(health.message());
  json["last_actions"] = worker.last_actions();
  return json;
}

absl::StatusOr<std::string> MakePlanText(const PlanInput& input,
                                         const Cluster& cluster,
                                         const api::PlanOptions& options,
                                         PlanRequest request) {
  MW_ASSIGN_OR_RETURN(Module module, ParseModule(input.module, "module"));
  MW_ASSIGN_OR_RETURN(module, PrepareStep(std::move(module), "module", {}));
  MW_ASSIGN_OR_RETURN(PlanChoice choice,
                      PlanStep(module, cluster, options, std::move(request),
                               /*with_finalists=*/false));
  MW_ASSIGN_OR_RETURN(choice.plan.whole, PriceWholeOps(module, choice.plan));
  return ToJson(choice.plan);
}

}  // namespace

ServedJobs::ServedJobs(Options options)
    : options_(std::move(options)), cache_(options_.cache) {}

ServedJobs::~ServedJobs() { Shutdown(); }

void ServedJobs::Shutdown() {
  Jobs jobs;
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    jobs = jobs_;
  }
  for (const auto& [number, job] : jobs) job->End();
}

bool ServedJobs::is_over() const {
  const std::lock_guard lock(mutex_);
  return is_over_;
}

bool ServedJobs::has_job() const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(
      jobs_, [](const auto& one) { return !one.second->is_over(); });
}

absl::Status ServedJobs::Explained(const absl::Status& status) const {
  return !status.ok() && is_over() ? Over() : status;
}

std::string ServedJobs::MetricsText() const {
  const Living living = LivingOf(options_.coordinator);
  return figures_.Text({.workers = living.workers,
                        .expected = options_.workers,
                        .devices = living.devices});
}

void ServedJobs::Note(const StepFigures& figures) {
  figures_.Set(figures);
  const std::string line = ToJsonLine(figures);
  watchers_.Send(figures.job, line);
  if (options_.on_line != nullptr) options_.on_line(line);
}

absl::StatusOr<std::string> ServedJobs::Plan(PlanInput input, JobCall& call) {
  if (is_over()) return Over();
  MW_ASSIGN_OR_RETURN(
      const api::PlanOptions options,
      PlanOptionsFromJson(input.options,
                          {.max_seconds = options_.max_plan_seconds}));
  MW_ASSIGN_OR_RETURN(PlanRequest request, RequestFrom(options));
  std::optional<Cluster> cluster = options_.cluster;
  if (!input.cluster.empty()) {
    MW_ASSIGN_OR_RETURN(cluster, ParseClusterText(input.cluster));
  }
  if (!cluster.has_value()) {
    return absl::InvalidArgumentError(
        "the coordinator was started without --cluster: say which one to plan "
        "for");
  }
  const auto plan = std::make_shared<std::string>();
  MW_RETURN_IF_ERROR(planning_.Do(
      call,
      [input = std::move(input), cluster = *std::move(cluster), options,
       request = std::move(request), plan]() -> absl::Status {
        MW_ASSIGN_OR_RETURN(*plan,
                            MakePlanText(input, cluster, options, request));
        return absl::OkStatus();
      }));
  return std::move(*plan);
}

absl::StatusOr<std::shared_ptr<ServedJob>> ServedJobs::Begin(
    const JobCall& call) {
  const absl::Time end = SteadyNow() + options_.patience;
  while (true) {
    std::shared_ptr<ServedJob> ending;
    {
      const std::lock_guard lock(mutex_);
      if (is_over_) return Over();
      for (const auto& [number, job] : jobs_) {
        if (!job->is_ended()) {
          return absl::FailedPreconditionError(
              absl::StrCat(job->ToString(),
                           " is loaded; there is one at a time: stop it "
                           "first"));
        }
        if (!job->is_over()) ending = job;
      }
      if (ending == nullptr) {
        // Those of the job before may be gone.
        if (options_.coordinator != nullptr) {
          options_.coordinator->ForgetLost(0);
        }
        jobs_.clear();
        return Add(nullptr);
      }
    }
    if (call.cancelled()) return absl::CancelledError("the client has gone");
    if (SteadyNow() > end) return StillThere(*ending);
    absl::SleepFor(kJobLook);
  }
}

absl::StatusOr<std::shared_ptr<ServedJob>> ServedJobs::BeginBeside(
    int64_t beside) {
  MW_ASSIGN_OR_RETURN(std::shared_ptr<ServedJob> job, Find(beside));
  const std::lock_guard lock(mutex_);
  const auto left = std::ranges::count_if(
      jobs_, [](const auto& one) { return !one.second->is_over(); });
  if (static_cast<size_t>(left) >= kMaxJobs) {
    return absl::ResourceExhaustedError(
        absl::StrCat(left, " jobs are loaded: stop one first"));
  }
  return Add(std::move(job));
}

// Requires: the mutex is locked.
std::shared_ptr<ServedJob> ServedJobs::Add(std::shared_ptr<ServedJob> beside) {
  const int64_t number = ++last_number_;
  return jobs_[number] = std::make_shared<ServedJob>(ServedJob::Options{
             .number = number,
             .beside = std::move(beside),
             .coordinator = options_.coordinator,
             .cache = &cache_,
             .on_step = [this](const StepFigures& one) { Note(one); },
             .patience = options_.patience});
}

absl::Status ServedJobs::StillThere(const ServedJob& job) const {
  std::string last;
  if (options_.coordinator != nullptr) {
    Team living = options_.coordinator->workers();
    std::erase_if(living, [](const auto& one) { return !one->health().ok(); });
    last = absl::StrCat("; the last that workers did:\n", LastActions(living));
  }
  return absl::FailedPreconditionError(absl::StrCat(
      job.ToString(), " was stopped, but what it has under way has not ended ",
      "within ", absl::FormatDuration(options_.patience), last));
}

absl::Status ServedJobs::AwaitFirstWorkers(const JobCall& call) {
  const absl::Time end = SteadyNow() + options_.patience;
  while (true) {
    const int64_t workers = LivingOf(options_.coordinator).workers;
    {
      const std::lock_guard lock(mutex_);
      have_all_joined_ |= workers >= options_.workers;
      if (have_all_joined_) return absl::OkStatus();
      if (is_over_) return Over();
    }
    if (call.cancelled()) return absl::CancelledError("the client has gone");
    if (SteadyNow() > end) {
      return absl::FailedPreconditionError(absl::StrCat(
          workers, " of ", options_.workers, " workers have joined within ",
          absl::FormatDuration(options_.patience)));
    }
    absl::SleepFor(kJobLook);
  }
}

absl::StatusOr<int64_t> ServedJobs::LoadBeside(int64_t beside,
                                               std::string module,
                                               std::string plan,
                                               JobCall& call) {
  MW_ASSIGN_OR_RETURN(const std::shared_ptr<ServedJob> job,
                      beside != 0 ? BeginBeside(beside) : Begin(call));
  absl::Status status = AwaitFirstWorkers(call);
  if (status.ok()) status = job->Load(std::move(module), std::move(plan), call);
  if (status.ok()) return job->number();
  job->End();
  return Explained(status);
}

absl::StatusOr<std::shared_ptr<ServedJob>> ServedJobs::Find(int64_t job) const {
  const std::lock_guard lock(mutex_);
  if (is_over_) return Over();
  const auto found = jobs_.find(job);
  if (found != jobs_.end() && !found->second->is_ended()) return found->second;
  if (job > 0 && job <= last_number_) {
    return absl::NotFoundError(absl::StrCat("job ", job, " was stopped"));
  }
  return absl::NotFoundError(absl::StrCat("there is no job ", job));
}

absl::Status ServedJobs::Init(int64_t job, InitFrom from, TensorSource& tensors,
                              JobCall& call) {
  MW_ASSIGN_OR_RETURN(const auto found, Find(job));
  return Explained(found->Init(from, tensors, call));
}

absl::Status ServedJobs::Feed(int64_t job, std::string dataset,
                              int64_t position, JobCall& call) {
  MW_ASSIGN_OR_RETURN(const auto found, Find(job));
  return Explained(found->Feed(std::move(dataset), position, call));
}

absl::Status ServedJobs::Step(int64_t job, int64_t count, TensorSource& data,
                              const StepSink& done, JobCall& call) {
  MW_ASSIGN_OR_RETURN(const auto found, Find(job));
  return Explained(found->Step(count, data, done, {}, nullptr, call));
}

absl::Status ServedJobs::StepAndFetch(int64_t job, int64_t count,
                                      TensorSource& data, const StepSink& done,
                                      std::vector<Wanted> wanted,
                                      const TensorSink& sink, JobCall& call) {
  MW_ASSIGN_OR_RETURN(const auto found, Find(job));
  return Explained(
      found->Step(count, data, done, std::move(wanted), sink, call));
}

absl::Status ServedJobs::Stage(int64_t job, int64_t batch, TensorSource& data,
                               JobCall&) {
  MW_ASSIGN_OR_RETURN(const auto found, Find(job));
  return Explained(found->Stage(batch, data));
}

absl::Status ServedJobs::Fetch(int64_t job, std::vector<Wanted> wanted,
                               const TensorSink& sink, JobCall& call) {
  MW_ASSIGN_OR_RETURN(const auto found, Find(job));
  return Explained(found->Fetch(std::move(wanted), sink, call));
}

absl::Status ServedJobs::Move(int64_t from, int64_t to, StateMoves moves,
                              JobCall& call) {
  MW_ASSIGN_OR_RETURN(auto source, Find(from));
  MW_ASSIGN_OR_RETURN(const auto target, Find(to));
  return Explained(target->Take(std::move(source), std::move(moves), call));
}

absl::Status ServedJobs::Save(int64_t job, SaveOptions options, JobCall& call) {
  MW_ASSIGN_OR_RETURN(const auto found, Find(job));
  return Explained(found->Save(std::move(options), call));
}

absl::Status ServedJobs::AwaitSaved(int64_t job, JobCall& call) {
  MW_ASSIGN_OR_RETURN(const auto found, Find(job));
  return Explained(found->AwaitSaved(call));
}

absl::StatusOr<RestoredState> ServedJobs::Restore(int64_t job,
                                                  std::string directory,
                                                  JobCall& call) {
  MW_ASSIGN_OR_RETURN(const auto found, Find(job));
  absl::StatusOr<RestoredState> restored =
      found->Restore(std::move(directory), call);
  if (!restored.ok()) return Explained(restored.status());
  return restored;
}

absl::StatusOr<std::string> ServedJobs::Describe(JobCall&) {
  Json json = {
      {"version", Version()},
      {"uptime_seconds", absl::ToDoubleSeconds(SteadyNow() - started_)},
      {"cluster", nullptr},
      {"expected_workers", options_.workers},
      {"workers", Json::array()},
      {"jobs", Json::array()}};
  if (options_.cluster.has_value()) {
    json["cluster"] = options_.cluster->ToString();
  }
  if (options_.coordinator != nullptr) {
    for (const auto& worker : options_.coordinator->workers()) {
      json["workers"].push_back(Described(*worker));
    }
  } else {
    json["programs"] = {{"cached", cache_.hits()},
                        {"compiled", cache_.compiled()}};
  }
  const std::lock_guard lock(mutex_);
  for (const auto& [number, job] : jobs_) {
    if (!job->is_over()) json["jobs"].push_back(job->Describe());
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

absl::Status ServedJobs::Watch(int64_t job, const LineSink& sink,
                               JobCall& call) {
  std::shared_ptr<ServedJob> found;
  if (job != 0) {
    MW_ASSIGN_OR_RETURN(found, Find(job));
  }
  return watchers_.Watch(job, sink, call, [&] {
    return is_over() || (found != nullptr && found->is_ended());
  });
}

absl::Status ServedJobs::Stop(int64_t job) {
  MW_ASSIGN_OR_RETURN(const auto found, Find(job));
  found->End();
  figures_.Forget(job);
  const absl::Time end = SteadyNow() + kStopPatience;
  // What a compiler is at cannot be put down: the next job waits for it.
  while (!found->is_over() && SteadyNow() < end) absl::SleepFor(kJobLook);
  return absl::OkStatus();
}

}  // namespace meshwright
