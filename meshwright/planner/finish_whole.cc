#include "meshwright/planner/finish_whole.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/side_by_side.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/base/units.h"
#include "meshwright/planner/plan_candidates.h"
#include "meshwright/planner/refine_mesh.h"
#include "meshwright/planner/search_policy.h"
#include "meshwright/planner/summary.h"

namespace meshwright {
namespace {

class WholeFinish {
 public:
  WholeFinish(const PlanTask& task, const MeshSearch& search,
              std::vector<PlanCandidate> found, PlanLog& log)
      : task_(task), search_(search), found_(std::move(found)), log_(log) {}

  absl::StatusOr<Finished> Run() {
    const SearchEffort& effort = task_.EffortFor(*found_[0].variant);
    const std::vector<PlanCandidate> all = found_;
    KeepPromising(effort.kept, task_.policy, found_);
    if (!effort.refine_all && HasProven(found_, task_.policy)) {
      ImproveProven();
    } else {
      ImproveAll(effort);
    }
    RefineMeshes(search_, task_, task_.memory_bytes, LeftSeconds(), found_,
                 log_.alternatives);
    log_.seconds["search"] = log_.watch.seconds() - log_.seconds["model"];
    MW_ASSIGN_OR_RETURN(std::vector<Plan> plans, WriteAll());
    for (int round = 0; round < task_.policy.solve.max_rounds; ++round)
      TightenAll(plans);
    WriteMore(all, plans);
    Tell(plans);
    for (const Plan& one : plans) {
      RecordWritten(task_, one, log_.alternatives);
    }
    const size_t chosen =
        ChooseWritten(plans, task_.memory_bytes, task_.policy);
    Plan plan = std::move(plans[chosen]);
    if (Fits(plan) && Prove(found_[chosen], plan)) {
      Tell({plan});
      RecordWritten(task_, plan, log_.alternatives);
    }
    return Finished{{found_[chosen], std::move(plan)}, std::move(found_)};
  }

 private:
  void ImproveProven() {
    for (PlanCandidate& found : found_) {
      if (GapOf(found) <= task_.policy.prune.proven_gap)
        Improve(found, task_.policy.solve.last_work,
                task_.policy.solve.first_gap);
    }
  }

  void ImproveAll(const SearchEffort& effort) {
    if (found_.size() > 1) {
      SideBySide(static_cast<int>(found_.size()), [&](int i) {
        Improve(found_[i], task_.policy.solve.second_work,
                task_.policy.solve.first_gap);
      });
      KeepPromising(effort.kept, task_.policy, found_);
    }
    Improve(found_[0], LastWork(found_[0]), effort.last_gap);
  }

  // Sweeps over large problems take more work.
  int64_t LastWork(const PlanCandidate& found) const {
    const auto& solve = task_.policy.solve;
    if (task_.request.expert != Expert::kAuto) return solve.last_work;
    const int64_t cells = CellsOf(found.variant->model, found.setting.mesh);
    return cells > solve.most_work / solve.work_of_cell
               ? solve.most_work
               : std::max(solve.last_work, solve.work_of_cell * cells);
  }

  // The search counts ops one by one; programs are priced with fusion and
  // combined collectives.
  absl::StatusOr<std::vector<Plan>> WriteAll() {
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
    return plans;
  }

  // Programs that need more memory than the search counted, and less time than
  // those that fit: re-solve with a tighter memory limit.
  void TightenAll(std::vector<Plan>& plans) {
    const Plan& best =
        plans[ChooseWritten(plans, task_.memory_bytes, task_.policy)];
    const double most =
        Fits(best) ? task_.policy.prune.as_good * best.predicted.step_seconds
                   : std::numeric_limits<double>::infinity();
    std::vector<int> too_large;
    for (int i = 0; i < std::ssize(plans); ++i) {
      if (!Fits(plans[i]) && plans[i].predicted.step_seconds < most) {
        too_large.push_back(i);
      }
    }
    SideBySide(static_cast<int>(too_large.size()), [&](int i) {
      const int at = too_large[i];
      Tighten(found_[at], plans[at]);
    });
  }

  // Lowers others of `all` that are estimated to be faster than the best
  // program, best first.
  void WriteMore(std::vector<PlanCandidate> all, std::vector<Plan>& plans) {
    std::erase_if(all, [&](const PlanCandidate& one) {
      return std::ranges::any_of(found_, [&](const PlanCandidate& other) {
        return one.setting == other.setting;
      });
    });
    std::ranges::stable_sort(all, {}, &PlanCandidate::seconds);
    int more = 0;
    for (PlanCandidate& one : all) {
      const Plan& best =
          plans[ChooseWritten(plans, task_.memory_bytes, task_.policy)];
      if (one.seconds() >= best.predicted.step_seconds || LeftSeconds() <= 0) {
        break;
      }
      if (++more > task_.policy.prune.more_written) {
        log_.notes.push_back(absl::StrCat(
            one.setting.mesh.ToString(), " may be as good: estimated at ",
            FormatSeconds(one.seconds()), ", not written"));
        break;
      }
      absl::StatusOr<Plan> plan = WritePlan(task_, one);
      if (!plan.ok()) continue;
      found_.push_back(std::move(one));
      plans.push_back(*std::move(plan));
    }
  }

  void Tighten(PlanCandidate& found, Plan& plan) const {
    const auto limit = static_cast<int64_t>(
        static_cast<double>(found.plan.peak_bytes) *
        task_.policy.solve.tighter * static_cast<double>(task_.memory_bytes) /
        static_cast<double>(plan.predicted.peak_bytes));
    absl::StatusOr<PlanCandidate> tighter = search_.Sketch(
        found.variant, found.setting, limit, found.plan.placements);
    if (!tighter.ok()) return;
    tighter->plan.bound_seconds =
        std::min(found.plan.bound_seconds, tighter->plan.seconds);
    absl::StatusOr<Plan> written = WritePlan(task_, *tighter);
    if (!written.ok()) return;
    found = *std::move(tighter);
    plan = *std::move(written);
  }

  // Refines a coarse candidate for its bound; true if that turned out to
  // improve it.
  bool Prove(PlanCandidate& found, Plan& plan) {
    if (found.plan.bound_seconds > 0) return false;
    PlanCandidate more =
        Refine(search_, found, task_.memory_bytes, LeftSeconds());
    found.plan.bound_seconds = more.plan.bound_seconds;
    plan.gap = GapOf(found);
    if (more.plan.seconds >= found.plan.seconds) return false;
    absl::StatusOr<Plan> better = WritePlan(task_, more);
    if (!better.ok() || !Fits(*better) ||
        better->predicted.step_seconds >= plan.predicted.step_seconds) {
      return false;
    }
    found = std::move(more);
    plan = *std::move(better);
    return true;
  }

  void Tell(const std::vector<Plan>& plans) const {
    if (!task_.mode.keeps_finalists) return;
    for (const Plan& plan : plans) {
      if (Fits(plan)) log_.finalists.push_back(plan);
    }
  }

  bool Fits(const Plan& plan) const {
    return plan.predicted.peak_bytes <= task_.memory_bytes;
  }

  void Improve(PlanCandidate& found, int64_t work, double wanted_gap) const {
    search_.Improve(found, work, wanted_gap, LeftSeconds());
  }

  double LeftSeconds() const {
    return task_.request.time_limit_seconds - log_.watch.seconds();
  }

  const PlanTask& task_;
  const MeshSearch& search_;
  std::vector<PlanCandidate> found_;
  PlanLog& log_;
};

// Rounded to six digits: sums of the same numbers in another order are equal.
float Rounded(double seconds) { return static_cast<float>(seconds); }

// What is communicated along the batch's axis, once per step, can take slower
// links than what other axes communicate in every layer.
bool HasBatchOutside(const Plan& plan) {
  return plan.mesh().axes().front().name == kBatchAxis;
}

}  // namespace

size_t ChooseWritten(const std::vector<Plan>& plans, int64_t memory_bytes,
                     const SearchPolicy& policy) {
  const auto fits = [&](const Plan& plan) {
    return plan.predicted.peak_bytes <= memory_bytes;
  };
  const auto quickest = std::ranges::min_element(plans, {}, [&](const Plan& p) {
    return std::make_pair(!fits(p), p.predicted.step_seconds);
  });
  const double enough = policy.prune.as_good * quickest->predicted.step_seconds;
  const auto best = std::ranges::min_element(plans, {}, [&](const Plan& plan) {
    const bool may_be =
        fits(plan) == fits(*quickest) && plan.predicted.step_seconds <= enough;
    return std::make_tuple(!may_be, std::max(plan.gap, policy.prune.proven_gap),
                           Rounded(plan.predicted.step_seconds),
                           !HasBatchOutside(plan));
  });
  return static_cast<size_t>(best - plans.begin());
}

PlanCandidate Refine(const MeshSearch& search, const PlanCandidate& found,
                     int64_t memory_bytes, double seconds_left) {
  PlanCandidate more = found;
  more.task.memory_limit = memory_bytes;
  more.plan.bound_seconds = 0;
  search.Improve(more, search.policy().solve.second_work,
                 search.policy().solve.first_gap, seconds_left);
  return more;
}

absl::StatusOr<Finished> FinishFound(const PlanTask& task,
                                     const MeshSearch& search,
                                     std::vector<PlanCandidate> found,
                                     PlanLog& log) {
  return WholeFinish(task, search, std::move(found), log).Run();
}

absl::StatusOr<Finished> FinishWhole(const PlanTask& task,
                                     const MeshSearch& search,
                                     WholeSearch& whole, PlanLog& log) {
  while (true) {
    MW_ASSIGN_OR_RETURN(Finished finished,
                        FinishFound(task, search, whole.found(), log));
    const WrittenCandidate& chosen = finished.chosen;
    if (chosen.plan.predicted.peak_bytes <= task.memory_bytes) return finished;
    whole.TrySmaller(*chosen.found.variant).IgnoreError();
    if (whole.found().empty()) return finished;
  }
}

}  // namespace meshwright
