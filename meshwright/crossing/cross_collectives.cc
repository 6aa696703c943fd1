#include "meshwright/crossing/cross_collectives.h"

#include <condition_variable>
#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/crossing/cross_call.h"
#include "meshwright/crossing/cross_site.h"
#include "meshwright/crossing/growing_pool.h"
#include "meshwright/engine/ffi.h"

namespace meshwright {
namespace {

std::vector<std::byte*> DataOf(absl::Span<const FfiArray> arrays) {
  std::vector<std::byte*> data;
  for (const FfiArray& array : arrays) data.push_back(array.As<std::byte>());
  return data;
}

bool IsNumber(const FfiArray& array) {
  return array.type == ElementType::kU32 && array.element_count() == 1;
}

// The device number: the last operand, which is also the last result.
absl::StatusOr<int64_t> PassDevice(const FfiCall& call) {
  if (call.operands().empty() || !IsNumber(call.operands().back()) ||
      call.results().empty() || !IsNumber(call.results().back())) {
    return absl::InvalidArgumentError("a collective without a device number");
  }
  const uint32_t device = *call.operands().back().As<uint32_t>();
  *call.results().back().As<uint32_t>() = device;
  return device;
}

}  // namespace

class CrossCollectives::State {
 public:
  State(int64_t job, Wire* wire) : job_(job), wire_(*wire) {}

  Wire& wire() { return wire_; }
  CrossTraffic traffic() const { return meter_.traffic(); }
  absl::Status status() const {
    const std::lock_guard lock(mutex_);
    return status_;
  }

  void Arrive(const FfiCall& call, FfiDone done) {
    std::optional<Task> task;
    if (const absl::Status error = Enter(call, done, task); !error.ok()) {
      Fail(error);
      done(error);
    } else if (done != nullptr) {
      done(absl::OkStatus());
    } else if (task.has_value()) {
      Start(*std::move(task));
    }
  }

  // All further calls leave zeros; those in progress end.
  void Close() {
    const absl::Status why =
        absl::CancelledError(absl::StrCat("job ", job_, " was unloaded"));
    bool fails = false;
    {
      const std::lock_guard lock(mutex_);
      fails = running_ > 0;
      for (const auto& [tag, site] : sites_) fails |= site->HasArrivals();
      if (!fails && status_.ok()) status_ = why;
    }
    if (fails) Fail(why);
    {
      std::unique_lock lock(mutex_);
      nothing_runs_.wait(lock, [this] { return running_ == 0; });
    }
    pool_.Finish();
  }

 private:
  struct Task {
    CrossSite* site = nullptr;
    CrossSite::Round round;
  };

  // Takes `done` unless the device's call has already been answered. A round
  // that can begin becomes the task.
  absl::Status Enter(const FfiCall& call, FfiDone& done,
                     std::optional<Task>& task) {
    MW_ASSIGN_OR_RETURN(const int64_t tag, call.IntegerAttribute("tag"));
    MW_ASSIGN_OR_RETURN(const int64_t device, PassDevice(call));
    CrossMember member = {.operands = DataOf(call.operands()),
                          .results = DataOf(call.results())};
    member.operands.pop_back();
    member.results.pop_back();
    std::unique_lock lock(mutex_);
    std::unique_ptr<CrossSite>& site = sites_[tag];
    if (site == nullptr) {
      MW_ASSIGN_OR_RETURN(CrossSite made,
                          CrossSite::Create(call, wire_.rank()));
      site = std::make_unique<CrossSite>(std::move(made));
    }
    if (!status_.ok() || !site->TakesPart(device)) {
      const CrossArrays& arrays = site->arrays();
      lock.unlock();
      SetZero(member, arrays);
      return absl::OkStatus();
    }
    auto round = site->Arrive(device, {std::move(member), std::move(done)});
    done = nullptr;
    if (round.has_value()) task = Begin(site.get(), *std::move(round));
    return absl::OkStatus();
  }

  // Requires: mutex_ is held.
  Task Begin(CrossSite* site, CrossSite::Round round) {
    ++running_;
    return {site, std::move(round)};
  }

  void Start(Task task) {
    // If all members are local, there is no peer to wait for.
    if (task.round.is_local()) return Run(std::move(task));
    pool_.Run(
        [this, task = std::move(task)]() mutable { Run(std::move(task)); });
  }

  void Run(Task task) {
    CrossSite::Round& round = task.round;
    const absl::Status result =
        Annotate(RunCrossRound(round.round, wire_, meter_),
                 Name(round.round.call->kind));
    if (!result.ok()) {
      Fail(result);
      for (const CrossMember& member : round.round.members) {
        SetZero(member, *round.round.arrays);
      }
    }
    // Programs that continue may wait for each other, so each continues in its
    // own thread.
    for (size_t i = 0; i < round.done.size(); ++i) {
      if (i == round.caller) continue;
      pool_.Run([done = std::move(round.done[i])] { done(absl::OkStatus()); });
    }
    const FfiDone last = std::move(round.done[round.caller]);
    std::optional<Task> next;
    {
      const std::lock_guard lock(mutex_);
      if (auto more = task.site->Over(round.meeting); more.has_value()) {
        next = Begin(task.site, *std::move(more));
      }
      // From here on, Close() may destroy this object.
      if (--running_ == 0) nothing_runs_.notify_all();
    }
    if (next.has_value()) {
      pool_.Run(
          [this, next = *std::move(next)]() mutable { Run(std::move(next)); });
    }
    last(absl::OkStatus());
  }

  // From here on, calls leave zeros.
  void Fail(const absl::Status& why) {
    std::vector<FfiDone> waiting;
    {
      const std::lock_guard lock(mutex_);
      if (!status_.ok()) return;
      status_ = why;
      for (const auto& [tag, site] : sites_) {
        for (CrossArrival& one : site->Clear()) {
          SetZero(one.member, site->arrays());
          waiting.push_back(std::move(one.done));
        }
      }
    }
    wire_.Abort(why);
    for (FfiDone& done : waiting) {
      pool_.Run([done = std::move(done)] { done(absl::OkStatus()); });
    }
  }

  const int64_t job_;
  Wire& wire_;
  CrossTrafficMeter meter_;
  mutable std::mutex mutex_;
  std::condition_variable nothing_runs_;
  absl::Status status_;
  // Number of rounds.
  int64_t running_ = 0;
  absl::flat_hash_map<int64_t, std::unique_ptr<CrossSite>> sites_;  // By tag.
  // Programs continue in its threads. The threads are started by the plug-in's
  // threads, during calls, and so have the same modes for rounding and denormal
  // numbers.
  GrowingPool pool_;
};

// The collectives of this process, by job and worker.
class CrossCollectives::Registry {
 public:
  using Key = std::pair<int64_t, int64_t>;

  static Registry& Get() {
    static auto& registry = *new Registry;
    return registry;
  }

  bool Add(const Key& key, std::shared_ptr<State> state) {
    const std::lock_guard lock(mutex_);
    return states_.emplace(key, std::move(state)).second;
  }
  void Remove(const Key& key) {
    const std::lock_guard lock(mutex_);
    states_.erase(key);
  }
  std::shared_ptr<State> Find(const Key& key) {
    const std::lock_guard lock(mutex_);
    const auto found = states_.find(key);
    return found == states_.end() ? nullptr : found->second;
  }

  // The FFI handler.
  static void Call(const FfiCall& call, FfiDone done) {
    const auto job = call.IntegerAttribute("job");
    if (!job.ok()) return done(job.status());
    const auto worker = call.IntegerAttribute("member");
    if (!worker.ok()) return done(worker.status());
    const std::shared_ptr<State> state = Get().Find({*job, *worker});
    if (state == nullptr) {
      return done(absl::FailedPreconditionError(absl::StrCat(
          "job ", *job, " has no collectives on worker ", *worker)));
    }
    state->Arrive(call, std::move(done));
  }

 private:
  std::mutex mutex_;
  std::map<Key, std::shared_ptr<State>> states_;
};

absl::Status CrossCollectives::Register(const Plugin& plugin) {
  return plugin.RegisterFfiHandler(kCrossCallTarget, "Host",
                                   &AsyncFfiHandlerOf<Registry::Call>);
}

absl::StatusOr<std::unique_ptr<CrossCollectives>> CrossCollectives::Create(
    int64_t job, Wire* wire) {
  auto state = std::make_shared<State>(job, wire);
  if (!Registry::Get().Add({job, wire->rank()}, state)) {
    return absl::AlreadyExistsError(
        absl::StrCat("job ", job, " has collectives on worker ", wire->rank()));
  }
  return std::unique_ptr<CrossCollectives>(
      new CrossCollectives(job, std::move(state)));
}

CrossCollectives::CrossCollectives(int64_t job, std::shared_ptr<State> state)
    : job_(job), state_(std::move(state)) {}

CrossCollectives::~CrossCollectives() {
  Registry::Get().Remove({job_, state_->wire().rank()});
  state_->Close();
}

absl::Status CrossCollectives::Connect(
    absl::Span<const std::vector<int>> groups) {
  for (const std::vector<int>& group : groups) {
    MW_RETURN_IF_ERROR(state_->wire().GroupOf(group).status());
  }
  return absl::OkStatus();
}

absl::Status CrossCollectives::status() const { return state_->status(); }

CrossTraffic CrossCollectives::traffic() const { return state_->traffic(); }

}  // namespace meshwright
