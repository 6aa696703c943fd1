#include "meshwright/cli/measure_plans.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "meshwright/api/device_client.h"
#include "meshwright/api/planned_runner.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/median.h"
#include "meshwright/base/progress.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/base/stopwatch.h"
#include "meshwright/planner/planner.h"

namespace meshwright {
namespace {

// Plans that are predicted to take longer than the best by this factor are not
// run.
constexpr double kNear = 1.1;
constexpr size_t kMostPlans = 6;
// Two executables of one program may differ by this factor; means over several
// executables differ by less.
constexpr double kApart = 0.06;
// A plan replaces the one with the best prediction if it takes less time by
// this factor: smaller gains may be chance.
constexpr double kGain = 0.97;
// Executables per plan, at most; on accelerators, where compiling takes long
// and executables do not differ, one.
constexpr int kCopies = 4;
// Turns of an executable; steps of a turn, after a first one that finds cold
// caches.
constexpr int kTurns = 5;
constexpr int kSteps = 4;
// Steps that take longer are not repeated within a turn.
constexpr double kLongStep = 0.1;
// Time limit in seconds for compiling and running: further executables are made
// only if there is time for them, and of the first ones at least two.
constexpr double kSeconds = 30;
constexpr double kFirstShare = 0.6;

constexpr double kNever = std::numeric_limits<double>::infinity();

double Predicted(const Plan& plan) { return plan.predicted.step_seconds; }

bool AreSame(const Plan& a, const Plan& b) {
  return a.micro_batches == b.micro_batches && a.recompute == b.recompute &&
         a.layouts == b.layouts;
}

// A plan and its measurements.
struct Rival {
  const Plan* plan = nullptr;
  Partitioned split;
  std::vector<double> seconds;  // By executable; empty if it did not run.

  double mean() const {
    if (seconds.empty()) return kNever;
    return std::accumulate(seconds.begin(), seconds.end(), 0.0) /
           static_cast<double>(seconds.size());
  }
};

// One executable of a rival, and its turns.
struct Copy {
  Rival* rival = nullptr;
  std::unique_ptr<JobRunner> runner;
  std::vector<double> turns;
};

absl::Status TakeTurn(Copy& copy) {
  std::vector<double> seconds;
  for (int step = 0; step <= kSteps; ++step) {
    MW_ASSIGN_OR_RETURN(const StepResult result, copy.runner->Step());
    if (step > 0 || result.seconds > kLongStep) {
      seconds.push_back(result.seconds);
    }
    if (result.seconds > kLongStep) break;
  }
  copy.turns.push_back(Median(std::move(seconds)));
  return absl::OkStatus();
}

class Measuring {
 public:
  Measuring(const Module& module, Client* client, Progress& progress)
      : module_(module), client_(client), progress_(progress) {}

  // Measures one executable of each rival, all together or one after the other.
  // Rivals that do not run, or for which there is no time, are removed.
  void Run(std::vector<Rival*>& rivals, bool all_at_once) {
    const size_t together = all_at_once ? rivals.size() : 1;
    std::vector<Rival*> still;
    for (size_t from = 0; from < rivals.size(); from += together) {
      if (std::ssize(still) >= kLeast && IsLate()) break;
      const auto begin = rivals.begin() + static_cast<int64_t>(from);
      for (Rival* rival : RunTogether({begin, begin + together})) {
        still.push_back(rival);
      }
    }
    rivals = std::move(still);
  }

  // Whether there is time for another executable of this many rivals.
  bool HasTimeFor(size_t rivals) const {
    return spent_.seconds() +
               static_cast<double>(rivals) * spent_.seconds() / compiled_ <=
           kSeconds;
  }

  const absl::Status& last_error() const { return last_error_; }

 private:
  // For first executables: whether too little time would remain for second
  // ones.
  bool IsLate() const { return spent_.seconds() > kFirstShare * kSeconds; }

  std::vector<Rival*> RunTogether(const std::vector<Rival*>& rivals) {
    std::vector<Copy> copies;
    for (Rival* rival : rivals) {
      if (std::ssize(copies) >= kLeast && IsLate()) break;
      progress_.Advance(rival->plan->mesh().ToString());
      compiled_ += 1;
      absl::StatusOr<std::unique_ptr<JobRunner>> runner = Compile(*rival);
      if (runner.ok()) {
        copies.push_back({rival, *std::move(runner), {}});
      } else {
        last_error_ = runner.status();
      }
    }
    for (int turn = 0; turn < kTurns; ++turn) {
      std::erase_if(copies, [&](Copy& copy) {
        const absl::Status status = TakeTurn(copy);
        last_error_.Update(status);
        return !status.ok();
      });
      // So that an executable does not always find the caches as the same other
      // one leaves them.
      std::rotate(copies.begin(), copies.begin() + (copies.empty() ? 0 : 1),
                  copies.end());
    }
    std::vector<Rival*> still;
    for (Copy& copy : copies) {
      copy.rival->seconds.push_back(Median(std::move(copy.turns)));
      still.push_back(copy.rival);
    }
    return still;
  }

  absl::StatusOr<std::unique_ptr<JobRunner>> Compile(const Rival& rival) {
    MW_ASSIGN_OR_RETURN(std::unique_ptr<JobRunner> runner,
                        MakeRunner(module_, rival.split, client_));
    MW_RETURN_IF_ERROR(runner->FillSynthetic(0));
    MW_RETURN_IF_ERROR(runner->Step().status());
    return runner;
  }

  // Rivals that are compared even if there is little time.
  static constexpr int kLeast = 2;

  const Module& module_;
  Client* client_;
  Progress& progress_;
  const Stopwatch spent_;
  double compiled_ = 0;
  absl::Status last_error_;
};

// Whether the programs of all rivals and their state fit in memory together.
bool HaveRoom(const std::vector<Rival>& rivals) {
  int64_t bytes = 0;
  for (const Rival& rival : rivals) bytes += rival.plan->predicted.peak_bytes;
  return bytes <= rivals[0].plan->memory_bytes;
}

std::string PlatformOf(const Cluster& cluster) {
  if (cluster.IsCpu()) return "cpu";
  return absl::StartsWith(cluster.device.kind, "tpu") ? "tpu" : "cuda";
}

// Keeps the rivals that may still turn out to be the fastest.
void LeaveNear(std::vector<Rival*>& rivals, int copies) {
  const double most =
      StillNear(copies) * std::ranges::min(rivals, {}, &Rival::mean)->mean();
  std::erase_if(rivals, [&](const Rival* one) { return one->mean() > most; });
}

void SortByMean(std::vector<Rival*>& rivals) {
  std::ranges::stable_sort(rivals, {},
                           [](const Rival* one) { return one->mean(); });
}

}  // namespace

std::vector<Plan> NearestPlans(std::vector<Plan> plans) {
  std::ranges::stable_sort(plans, {}, Predicted);
  std::vector<Plan> kept;
  for (Plan& plan : plans) {
    if (kept.size() == kMostPlans) break;
    if (!kept.empty() && Predicted(plan) > kNear * Predicted(kept[0])) break;
    if (std::ranges::none_of(
            kept, [&](const Plan& other) { return AreSame(plan, other); })) {
      kept.push_back(std::move(plan));
    }
  }
  return kept;
}

double StillNear(int copies) {
  return 1 + kApart / std::sqrt(static_cast<double>(copies));
}

size_t TakenOf(const std::vector<double>& seconds) {
  const auto least = std::ranges::min_element(seconds);
  return *least <= kGain * seconds[0]
             ? static_cast<size_t>(least - seconds.begin())
             : 0;
}

absl::StatusOr<std::unique_ptr<Client>> ClientOf(const Cluster& cluster) {
  const int64_t devices = cluster.device_count();
  absl::StatusOr<std::unique_ptr<Client>> client =
      MakeClient(PlatformOf(cluster),
                 static_cast<int>(std::min(devices, kMaxVirtualDevices)));
  const std::string what =
      absl::StrCat("--measure runs steps on the cluster's ", devices, " ",
                   cluster.device.kind, " devices");
  MW_RETURN_IF_ERROR(Annotate(client.status(), what));
  const int64_t present = std::ssize((*client)->devices());
  if (present >= devices) return client;
  return absl::InvalidArgumentError(absl::StrCat(
      what, ", and there are ", present, " on this machine; plan without it"));
}

absl::StatusOr<Plan> QuickestMeasured(const Module& module,
                                      const std::vector<Plan>& plans,
                                      Client* client) {
  Progress progress("measuring");
  std::vector<Rival> rivals;
  for (const Plan& plan : plans) {
    MW_ASSIGN_OR_RETURN(Partitioned split, PartitionPlan(module, plan));
    rivals.push_back({&plan, std::move(split), {}});
  }
  std::vector<Rival*> near;
  for (Rival& rival : rivals) near.push_back(&rival);
  const bool all_at_once = HaveRoom(rivals);
  Measuring measuring(module, client, progress);
  const int copies = client->platform_name() == "cpu" ? kCopies : 1;
  for (int copy = 1; copy <= copies; ++copy) {
    measuring.Run(near, all_at_once);
    if (near.empty()) break;
    LeaveNear(near, copy);
    if (near.size() == 1 || !measuring.HasTimeFor(near.size())) break;
  }
  // Only of those that were measured to the end, which met the same
  // disturbances.
  std::vector<double> means;
  for (Rival& rival : rivals) {
    const bool remains = near.empty() || std::ranges::count(near, &rival) > 0;
    means.push_back(remains ? rival.mean() : kNever);
  }
  const Rival* const chosen = &rivals[TakenOf(means)];
  if (chosen->seconds.empty()) {
    return absl::Status(measuring.last_error().code(),
                        absl::StrCat("no plan could be measured: ",
                                     measuring.last_error().message()));
  }
  Plan best = *chosen->plan;
  best.measured = {.step_seconds = chosen->mean()};
  std::vector<Rival*> others;
  for (Rival& rival : rivals) {
    if (&rival != chosen && !rival.seconds.empty()) others.push_back(&rival);
  }
  SortByMean(others);
  for (const Rival* one : others) {
    best.measured->others.push_back({.mesh = one->plan->mesh().ToString(),
                                     .micro_batches = one->plan->micro_batches,
                                     .recompute = one->plan->recompute,
                                     .predicted_seconds = Predicted(*one->plan),
                                     .step_seconds = one->mean()});
  }
  return best;
}

}  // namespace meshwright
