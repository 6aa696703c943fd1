#include "meshwright/planner/finish_whole.h"

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>

#include "meshwright/base/side_by_side.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/planner/found_plans.h"
#include "meshwright/planner/refine_mesh.h"

namespace meshwright {
namespace {

class WholeFinish {
 public:
  WholeFinish(const PlanTask& task, const MeshSearch& search,
              std::vector<Found>& found, PlanLog& log)
      : task_(task),
        search_(search),
        found_(found),
        log_(log),
        search_limit_(task.memory_bytes) {}

  absl::StatusOr<Plan> Run() {
    KeepPromising(found_);
    const bool large = found_[0].cut->model.graph.ops.size() > kManyOps;
    if (large && HasProven(found_)) {
      ImproveProven();
    } else {
      ImproveAll(large);
    }
    RefineMeshes(search_, task_, search_limit_, LeftSeconds(), found_,
                 log_.alternatives);
    log_.seconds["search"] = log_.watch.seconds() - log_.seconds["model"];
    MW_ASSIGN_OR_RETURN(Plan plan, WriteBest());
    for (int round = 0; round < kMaxRounds; ++round) {
      if (plan.predicted.peak_bytes <= task_.memory_bytes) break;
      absl::StatusOr<Plan> tighter = Tighten(found_[0], plan);
      if (!tighter.ok()) break;
      plan = *std::move(tighter);
    }
    return plan;
  }

 private:
  // Searching on all of a large step takes long, and gains little.
  void ImproveProven() {
    for (Found& found : found_) {
      if (GapOf(found) <= kProvenGap) Improve(found, kLastWork, kFirstGap);
    }
  }

  void ImproveAll(bool large) {
    if (found_.size() > 1) {
      SideBySide(static_cast<int>(found_.size()),
                 [&](int i) { Improve(found_[i], kSecondWork, kFirstGap); });
      KeepPromising(found_);
    }
    Improve(found_[0], kLastWork, large ? kFirstGap : kLastGap);
  }

  // The search counts ops one by one; of its best plans the one whose program
  // is best, fused and combined as it will run.
  absl::StatusOr<Plan> WriteBest() {
    const Stopwatch watch;
    std::vector<absl::StatusOr<Plan>> written(found_.size());
    SideBySide(static_cast<int>(found_.size()),
               [&](int i) { written[i] = WritePlan(task_, found_[i]); });
    log_.seconds["partition"] += watch.seconds();
    std::vector<Plan> plans;
    for (absl::StatusOr<Plan>& one : written) {
      MW_ASSIGN_OR_RETURN(Plan plan, std::move(one));
      plans.push_back(std::move(plan));
    }
    const size_t chosen = ChooseWritten(plans, task_.memory_bytes);
    std::swap(found_[0], found_[chosen]);
    return std::move(plans[chosen]);
  }

  // The program takes more than the search counted: it has to aim lower.
  absl::StatusOr<Plan> Tighten(Found& found, const Plan& plan) {
    search_limit_ =
        static_cast<int64_t>(static_cast<double>(search_limit_) * kTighter *
                             static_cast<double>(task_.memory_bytes) /
                             static_cast<double>(plan.predicted.peak_bytes));
    MW_ASSIGN_OR_RETURN(
        Found tighter,
        search_.Sketch(found.cut,
                       {found.task.mesh, search_limit_, found.expert},
                       found.plan.placements));
    tighter.plan.bound_seconds = found.plan.bound_seconds;
    found = std::move(tighter);
    return WritePlan(task_, found);
  }

  void Improve(Found& found, int64_t work, double wanted_gap) const {
    search_.Improve(found, work, wanted_gap, LeftSeconds());
  }

  double LeftSeconds() const {
    return task_.request.time_limit_seconds - log_.watch.seconds();
  }

  const PlanTask& task_;
  const MeshSearch& search_;
  std::vector<Found>& found_;
  PlanLog& log_;
  int64_t search_limit_;  // What the search may count, to stay below it.
};

}  // namespace

size_t ChooseWritten(const std::vector<Plan>& plans, int64_t memory_bytes) {
  const auto fits = [&](const Plan& plan) {
    return plan.predicted.peak_bytes <= memory_bytes;
  };
  const auto quickest = std::ranges::min_element(plans, {}, [&](const Plan& p) {
    return std::make_pair(!fits(p), p.predicted.step_seconds);
  });
  const double enough = kAsGood * quickest->predicted.step_seconds;
  const auto best = std::ranges::min_element(plans, {}, [&](const Plan& plan) {
    const bool may_be =
        fits(plan) == fits(*quickest) && plan.predicted.step_seconds <= enough;
    return std::make_tuple(!may_be, std::max(plan.gap, kProvenGap),
                           plan.predicted.step_seconds);
  });
  return static_cast<size_t>(best - plans.begin());
}

absl::StatusOr<Plan> FinishFound(const PlanTask& task, const MeshSearch& search,
                                 std::vector<Found>& found, PlanLog& log) {
  return WholeFinish(task, search, found, log).Run();
}

absl::StatusOr<Plan> FinishWhole(const PlanTask& task, const MeshSearch& search,
                                 WholeSearch& whole, PlanLog& log) {
  while (true) {
    MW_ASSIGN_OR_RETURN(Plan plan,
                        FinishFound(task, search, whole.found(), log));
    if (plan.predicted.peak_bytes <= task.memory_bytes) return plan;
    whole.TrySmaller(*whole.found()[0].cut).IgnoreError();
    if (whole.found().empty()) return plan;
  }
}

}  // namespace meshwright
