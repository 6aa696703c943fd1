#include "meshwright/planner/stages_that_fit.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "meshwright/base/status_macros.h"
#include "meshwright/base/steady_time.h"
#include "meshwright/base/stopwatch.h"
#include "meshwright/planner/stage_search.h"
#include "meshwright/planner/steering.h"
#include "meshwright/planner/what_fits.h"

namespace meshwright {
namespace {

constexpr int64_t kAnyMemory = int64_t{1} << 50;
constexpr double kUnknown = std::numeric_limits<double>::infinity();

bool Fits(const Plan& plan, int64_t memory_bytes) {
  return plan.NeededBytes() <= memory_bytes;
}

bool IsLeaner(const absl::StatusOr<Plan>& plan,
              const absl::StatusOr<Plan>& other) {
  return plan.ok() &&
         (!other.ok() || plan->NeededBytes() < other->NeededBytes());
}

absl::StatusOr<Plan> SearchWithin(int64_t memory_bytes, const PlanTask& task,
                                  Variants& variants) {
  PlanTask other = task;
  other.memory_bytes = memory_bytes;
  const MeshSearch search(other);
  MW_ASSIGN_OR_RETURN(
      std::vector<StageCandidate> staged,
      BestStages(other, search, nullptr, variants, [](const Alternative&) {}));
  return FinishBestFirst(other, search, other.request.time_limit_seconds,
                         /*whole_seconds=*/kUnknown, staged,
                         [](const auto&, const auto&) {});
}

// The first that fits, or the leanest. The limits tried do not depend on the
// available memory, so that the memory reported as sufficient is sufficient.
absl::StatusOr<Plan> LeanestStages(const PlanTask& task) {
  const Stopwatch watch;
  // Its own, as a search prefers counts that were modelled already.
  Variants variants(task.module, task.context);
  absl::StatusOr<Plan> roomy = SearchWithin(kAnyMemory, task, variants);
  if (absl::IsResourceExhausted(roomy.status())) return NoWay(task.request);
  MW_ASSIGN_OR_RETURN(Plan plan, std::move(roomy));
  // Programs need more memory than a search counts: the leanest are found with
  // hardly more than the lower bound.
  int64_t too_little = 0;
  int64_t enough = plan.NeededBytes();
  while (!Fits(plan, task.memory_bytes) &&
         static_cast<double>(enough) >
             task.policy.stages.close * static_cast<double>(too_little) &&
         watch.seconds() < task.request.time_limit_seconds) {
    const int64_t limit = too_little + (enough - too_little) / 2;
    absl::StatusOr<Plan> tried = SearchWithin(limit, task, variants);
    (tried.ok() ? enough : too_little) = limit;
    if (IsLeaner(tried, plan)) plan = *std::move(tried);
  }
  return plan;
}

}  // namespace

absl::StatusOr<Plan> FinishBestFirst(const PlanTask& task,
                                     const MeshSearch& search,
                                     double seconds_left, double whole_seconds,
                                     std::vector<StageCandidate>& staged,
                                     const StagesWritten& written) {
  std::ranges::stable_sort(staged, {}, &StageCandidate::seconds);
  const Stopwatch watch;
  const double seconds = task.policy.stages.share_for_more * seconds_left;
  absl::StatusOr<Plan> best = absl::NotFoundError("none fits");
  absl::StatusOr<Plan> leanest = absl::NotFoundError("no stages");
  double least = kUnknown;  // To be beaten.
  double near = 0;
  size_t tried = 0;
  for (; tried < staged.size(); ++tried) {
    StageCandidate& candidate = staged[tried];
    if (candidate.seconds >= std::max(least, near)) break;
    const bool has_other = best.ok() || whole_seconds < kUnknown;
    if (has_other && watch.seconds() >= seconds) break;
    if (has_other) {
      candidate.most_balance = task.policy.stages.overestimated *
                               std::min(whole_seconds, least) /
                               candidate.seconds;
      candidate.deadline =
          SteadyNow() + absl::Seconds(seconds_left - watch.seconds());
    }
    absl::StatusOr<Plan> plan =
        FinishStages(task, search, seconds_left - watch.seconds(), candidate);
    written(candidate, plan);
    if (plan.ok() && Fits(*plan, task.memory_bytes)) {
      if (!best.ok() ||
          plan->predicted.step_seconds < best->predicted.step_seconds) {
        best = std::move(plan);
        least = std::min(whole_seconds, best->predicted.step_seconds);
        // Estimates so close may rank differently as programs.
        if (least < whole_seconds) {
          near = task.policy.prune.about_as_good * staged.front().seconds;
        }
      }
      continue;
    }
    const bool is_first_reason = !leanest.ok() && !plan.ok();
    if (is_first_reason || IsLeaner(plan, leanest)) leanest = std::move(plan);
  }
  staged.erase(staged.begin(), staged.begin() + static_cast<int64_t>(tried));
  std::erase_if(staged, [&](const StageCandidate& one) {
    return one.seconds >= std::min(whole_seconds, least);
  });
  return best.ok() ? best : leanest;
}

absl::StatusOr<Plan> StagesThatFit(const PlanTask& task, double seconds_left) {
  PlanRequest request = task.request;
  request.time_limit_seconds =
      std::max(task.policy.lean.least_seconds, seconds_left);
  MW_ASSIGN_OR_RETURN(Plan plan, LeanestStages(task.With(request)));
  if (!Fits(plan, task.memory_bytes)) {
    return StagesDoNotFit(plan, task.memory_bytes);
  }
  plan.memory_bytes = task.memory_bytes;
  return plan;
}

absl::StatusOr<Plan> AnyStagesThatFit(const PlanTask& task,
                                      double seconds_left) {
  const Stopwatch watch;
  const double limit = std::max(task.policy.lean.least_seconds, seconds_left);
  absl::StatusOr<Plan> best = absl::NotFoundError("no stages fit");
  Variants variants(task.module, task.context);
  const int64_t devices = task.cluster.device_count();
  for (int64_t stages = 2; stages <= std::min(devices, task.policy.stages.most);
       ++stages) {
    PlanRequest request = task.request;
    request.stages = static_cast<int32_t>(stages);
    request.time_limit_seconds = limit - watch.seconds();
    if (devices % stages != 0 || request.time_limit_seconds <= 0) continue;
    absl::StatusOr<Plan> plan =
        SearchWithin(kAnyMemory, task.With(request), variants);
    if (!plan.ok() || !Fits(*plan, task.memory_bytes)) continue;
    if (!best.ok() ||
        plan->predicted.step_seconds < best->predicted.step_seconds) {
      best = std::move(plan);
      best->memory_bytes = task.memory_bytes;
    }
  }
  return best;
}

}  // namespace meshwright
