#include "meshwright/api/served_job.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "meshwright/api/load_step.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/base/steady_time.h"
#include "meshwright/base/stopwatch.h"
#include "meshwright/base/units.h"
#include "meshwright/mesh/cluster_file.h"
#include "meshwright/runtime/move_state.h"

namespace meshwright {

// The runner goes first, the module last.
struct ServedJob::Loaded {
  Loaded(Module step, meshwright::Plan made)
      : module(std::move(step)), plan(std::move(made)) {}

  const Module module;
  const meshwright::Plan plan;
  std::unique_ptr<const LoweredPlan> lowered;
  JobFacts facts;
  PlannedRunner made;
};

namespace {

using Json = nlohmann::ordered_json;

constexpr absl::Duration kWorkerLook = absl::Milliseconds(50);

bool IsCallersFault(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kCancelled:
    case absl::StatusCode::kUnimplemented:
      return true;
    default:
      return false;
  }
}

}  // namespace

ServedJob::ServedJob(Options options)
    : options_(std::move(options)),
      lane_(options_.beside != nullptr ? options_.beside->lane_
                                       : std::make_shared<JobLane>()) {}

ServedJob::~ServedJob() {
  End();
  // What is in progress uses it.
  lane_->thread.Do(JobCall(), [] { return absl::OkStatus(); }).IgnoreError();
}

std::string ServedJob::ToString() const {
  const std::lock_guard lock(mutex_);
  return module_name_.empty()
             ? absl::StrCat("job ", number())
             : absl::StrCat("job ", number(), " (", module_name_, ")");
}

absl::Status ServedJob::CheckAlive() const {
  const std::lock_guard lock(mutex_);
  return IsAlive();
}

absl::Status ServedJob::BeginWork() {
  const std::lock_guard lock(mutex_);
  MW_RETURN_IF_ERROR(IsAlive());
  is_at_work_ = true;
  return absl::OkStatus();
}

absl::Status ServedJob::IsAlive() const {
  switch (state_) {
    case State::kLoading:
      return absl::FailedPreconditionError(
          absl::StrCat("job ", number(), " is still being loaded"));
    case State::kFailed:
      return absl::Status(
          failure_.code(),
          absl::StrCat("job ", number(), " has failed: ", failure_.message(),
                       "; stop it, then load it again"));
    case State::kEnding:
    case State::kOver:
      return absl::NotFoundError(
          absl::StrCat("job ", number(), " was stopped"));
    default:
      return absl::OkStatus();
  }
}

absl::Status ServedJob::Failed(const absl::Status& why) {
  const std::lock_guard lock(mutex_);
  if (state_ == State::kEnding || state_ == State::kOver) {
    return absl::NotFoundError(absl::StrCat("job ", number(), " was stopped"));
  }
  if (!IsCallersFault(why)) {
    state_ = State::kFailed;
    failure_ = why;
  }
  return why;
}

absl::Status ServedJob::Do(const JobCall& call,
                           std::function<absl::Status(Runner& runner)> work) {
  return lane_->thread.Do(
      call, [this, work = std::move(work)]() -> absl::Status {
        MW_RETURN_IF_ERROR(BeginWork());
        const absl::Status status = work(*loaded_->made.runner);
        {
          const std::lock_guard lock(mutex_);
          is_at_work_ = false;
        }
        return status.ok() ? status : Failed(status);
      });
}

absl::Status ServedJob::Prepare(const std::string& module,
                                const std::string& plan) {
  MW_ASSIGN_OR_RETURN(Module step, ParseModule(module, "module"));
  MW_ASSIGN_OR_RETURN(step, PrepareStep(std::move(step), "module", {}));
  absl::StatusOr<meshwright::Plan> parsed = ParsePlan(plan);
  if (!parsed.ok()) return Annotate(parsed.status(), "plan");
  auto loaded = std::make_unique<Loaded>(std::move(step), *std::move(parsed));
  MW_ASSIGN_OR_RETURN(loaded->lowered, LowerPlan(loaded->module, loaded->plan));
  loaded->facts = FactsOf(loaded->module, loaded->plan.cluster,
                          loaded->plan.device_count());
  loaded->facts.job = number();
  loaded_ = std::move(loaded);
  const ModuleRoles roles = AnalyzeRoles(loaded_->module);
  const std::lock_guard lock(mutex_);
  module_name_ = loaded_->module.name();
  devices_ = loaded_->plan.device_count();
  for (const StatePair& pair : roles.state_pairs) {
    state_names_.push_back(roles.parameters[pair.parameter].name);
  }
  return absl::OkStatus();
}

absl::Status ServedJob::AwaitDevices(const JobCall& call) const {
  if (options_.coordinator == nullptr) return absl::OkStatus();
  int64_t needed = 0;
  {
    const std::lock_guard lock(mutex_);
    needed = devices_;
  }
  const absl::Time end = SteadyNow() + options_.patience;
  while (true) {
    int64_t workers = 0;
    int64_t devices = 0;
    for (const auto& worker : options_.coordinator->workers()) {
      if (!worker->health().ok()) continue;
      ++workers;
      devices += worker->hello().devices();
    }
    if (devices >= needed) return absl::OkStatus();
    if (call.cancelled()) return absl::CancelledError("the client has gone");
    {
      const std::lock_guard lock(mutex_);
      if (state_ != State::kLoading) return absl::CancelledError("stopped");
    }
    if (SteadyNow() > end) {
      return absl::FailedPreconditionError(absl::StrCat(
          "the plan is for ", Counted(needed, "device"), "; ",
          Counted(workers, "worker"), " with ", Counted(devices, "device"),
          workers == 1 ? " has" : " have",
          " joined: start more with meshwright worker --join"));
    }
    absl::SleepFor(kWorkerLook);
  }
}

absl::StatusOr<Where> ServedJob::FindPlace() {
  const std::shared_ptr<ServedJob> beside = std::exchange(options_.beside, {});
  if (options_.coordinator != nullptr) {
    if (beside == nullptr) return options_.coordinator;
    MW_RETURN_IF_ERROR(beside->CheckAlive());
    return OnWorkers{options_.coordinator, beside->loaded_->made.job};
  }
  const meshwright::Plan& plan = loaded_->plan;
  MW_ASSIGN_OR_RETURN(Client* const client,
                      lane_->ClientFor(PlatformFor(plan), plan.device_count()));
  return OnDevices(client, options_.cache);
}

absl::Status ServedJob::Place() {
  {
    const std::lock_guard lock(mutex_);
    if (state_ != State::kLoading) return absl::CancelledError("stopped");
  }
  const Stopwatch time;
  MW_ASSIGN_OR_RETURN(const Where where, FindPlace());
  MW_ASSIGN_OR_RETURN(loaded_->made,
                      MakeRunner(loaded_->module, *loaded_->lowered, where));
  loaded_->made.job->OnStep(
      [this](int64_t step, const StepReport& report) { Note(step, report); });
  const std::lock_guard lock(mutex_);
  compile_seconds_ = time.seconds();
  running_ = loaded_->made.job;
  if (state_ == State::kLoading) state_ = State::kReady;
  return absl::OkStatus();
}

absl::Status ServedJob::Load(std::string module, std::string plan,
                             const JobCall& call) {
  MW_RETURN_IF_ERROR(lane_->thread.Do(
      call, [this, module = std::move(module), plan = std::move(plan)] {
        return Prepare(module, plan);
      }));
  MW_RETURN_IF_ERROR(AwaitDevices(call));
  return lane_->thread.Do(call, [this] { return Place(); });
}

absl::Status ServedJob::Stage(int64_t batch, TensorSource& data) {
  if (batch < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("batch ", batch, " cannot be staged: they begin at 1"));
  }
  MW_RETURN_IF_ERROR(CheckAlive());
  while (true) {
    MW_ASSIGN_OR_RETURN(std::optional<LentTensor> tensor, data.Next());
    if (!tensor.has_value()) return absl::OkStatus();
    const std::shared_lock lock(staging_);
    MW_RETURN_IF_ERROR(CheckAlive());
    MW_RETURN_IF_ERROR(loaded_->made.runner->Stage(batch, *std::move(tensor)));
  }
}

absl::Status ServedJob::Take(std::shared_ptr<ServedJob> from, StateMoves moves,
                             const JobCall& call) {
  if (from->lane_ != lane_ || from.get() == this) {
    return absl::InvalidArgumentError(
        absl::StrCat(from->ToString(), " is not loaded beside ", ToString()));
  }
  std::vector<StateMove> names;
  for (StateMoves::Move& one : moves.moves) {
    names.push_back({std::move(one.taken), std::move(one.given)});
  }
  MW_ASSIGN_OR_RETURN(const CallTurns::Turn turn, lane_->turns.Take(call));
  return Do(call,
            [from = std::move(from), names = std::move(names),
             drop = moves.drop](Runner& runner) -> absl::Status {
              MW_RETURN_IF_ERROR(from->CheckAlive());
              return MoveState(*from->loaded_->made.runner, runner, names,
                               drop);
            });
}

void ServedJob::Note(int64_t number, const StepReport& report) {
  const StepFigures figures =
      FiguresOf(loaded_->facts, loaded_->made.job->job(), number, report);
  {
    const std::lock_guard lock(mutex_);
    steps_ = number + 1;
    last_ = figures;
  }
  if (steps_of_call_ != nullptr) {
    steps_of_call_->push_back({.step = number,
                               .seconds = report.seconds,
                               .loss = report.loss,
                               .position = report.position});
  }
  if (options_.on_step != nullptr) options_.on_step(figures);
}

void ServedJob::End() {
  JobRunner* running = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (state_ == State::kEnding || state_ == State::kOver) return;
    state_ = State::kEnding;
    running = std::exchange(running_, nullptr);
    // Jobs beside it would not outlive that.
    if (!is_at_work_ && lane_.use_count() > 1) running = nullptr;
  }
  if (running != nullptr) {
    running->Abort(
        absl::CancelledError(absl::StrCat("job ", number(), " was stopped")));
  }
  lane_->thread.Post([this] {
    {
      const std::unique_lock lock(staging_);
      loaded_ = nullptr;  // Unloads it, in the end.
    }
    const std::lock_guard lock(mutex_);
    state_ = State::kOver;
    return absl::OkStatus();
  });
}

Json ServedJob::Describe() const {
  const std::lock_guard lock(mutex_);
  const auto name = [this] {
    switch (state_) {
      case State::kLoading:
        return "loading";
      case State::kReady:
        return "ready";
      case State::kRunning:
        return "running";
      case State::kFailed:
        return "failed";
      default:
        return "ending";
    }
  };
  Json json = {{"job", number()},    {"module", module_name_},
               {"state", name()},    {"devices", devices_},
               {"steps", steps_},    {"loss", nullptr},
               {"seconds", nullptr}, {"compile_seconds", compile_seconds_}};
  if (last_.has_value()) {
    if (last_->loss.has_value()) json["loss"] = *last_->loss;
    json["seconds"] = last_->seconds;
    if (last_->position.has_value()) json["position"] = *last_->position;
  }
  if (!failure_.ok()) json["error"] = std::string(failure_.message());
  return json;
}

bool ServedJob::is_ended() const {
  const std::lock_guard lock(mutex_);
  return state_ == State::kEnding || state_ == State::kOver;
}

bool ServedJob::is_over() const {
  const std::lock_guard lock(mutex_);
  return state_ == State::kOver;
}

}  // namespace meshwright
