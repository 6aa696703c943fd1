#include "meshwright/planner/finish_whole.h"

#include <algorithm>
#include <cstdint>
#include <optional>
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
              std::vector<Found>& found, std::vector<Found>& experts,
              PlanLog& log)
      : task_(task),
        search_(search),
        found_(found),
        experts_(experts),
        log_(log),
        search_limit_(task.memory_bytes) {}

  absl::StatusOr<Plan> Run() {
    KeepPromising(found_);
    if (found_.size() > 1) {
      SideBySide(static_cast<int>(found_.size()),
                 [&](int i) { Improve(found_[i], kSecondWork, kFirstGap); });
      KeepPromising(found_);
    }
    const bool large = found_[0].cut->model.graph.ops.size() > kManyOps;
    Improve(found_[0], kLastWork, large ? kFirstGap : kLastGap);
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
  // The search counts ops one by one; of its best plans the one whose program
  // is quickest, fused and combined as it will run, and fits.
  absl::StatusOr<Plan> WriteBest() {
    std::optional<Plan> best;
    size_t index = 0;
    ShareBounds(found_, experts_);
    for (Found& found : experts_) found_.push_back(std::move(found));
    experts_.clear();
    const Stopwatch watch;
    std::vector<absl::StatusOr<Plan>> plans(found_.size());
    SideBySide(static_cast<int>(found_.size()),
               [&](int i) { plans[i] = WritePlan(task_, found_[i]); });
    log_.seconds["partition"] += watch.seconds();
    for (size_t i = 0; i < found_.size(); ++i) {
      MW_ASSIGN_OR_RETURN(Plan plan, std::move(plans[i]));
      const auto rank = [&](const Plan& of) {
        return std::make_pair(of.predicted.peak_bytes > task_.memory_bytes,
                              of.predicted.step_seconds);
      };
      if (best.has_value() && !(rank(plan) < rank(*best))) continue;
      best = std::move(plan);
      index = i;
    }
    std::swap(found_[0], found_[index]);
    return *std::move(best);
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
  std::vector<Found>& experts_;
  PlanLog& log_;
  int64_t search_limit_;  // What the search may count, to stay below it.
};

}  // namespace

absl::StatusOr<Plan> FinishWhole(const PlanTask& task, const MeshSearch& search,
                                 std::vector<Found>& found,
                                 std::vector<Found>& experts, PlanLog& log) {
  return WholeFinish(task, search, found, experts, log).Run();
}

}  // namespace meshwright
