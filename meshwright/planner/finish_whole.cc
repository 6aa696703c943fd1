#include "meshwright/planner/finish_whole.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/side_by_side.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/base/stopwatch.h"
#include "meshwright/base/units.h"
#include "meshwright/planner/plan_candidates.h"
#include "meshwright/planner/refine_mesh.h"
#include "meshwright/planner/search_policy.h"
#include "meshwright/planner/short_run.h"
#include "meshwright/planner/summary.h"

namespace meshwright {
namespace {

class WholeFinish {
 public:
  WholeFinish(const PlanTask& task, const MeshSearch& search,
              std::vector<PlanCandidate> found, const SearchEffort& effort,
              PlanLog& log)
      : task_(task),
        search_(search),
        effort_(effort),
        found_(std::move(found)),
        log_(log) {}

  absl::StatusOr<Finished> Run() {
    all_ = found_;
    Prune();
    Refine();
    MW_RETURN_IF_ERROR(LowerAndPrice());
    const size_t chosen = Choose();
    Prove(chosen);
    return Finished{{found_[chosen], std::move(plans_[chosen])},
                    std::move(found_)};
  }

 private:
  void Prune() {
    const InPhase in(log_, kPrune);
    found_ = Promising(std::move(found_), effort_.kept, task_.policy);
  }

  void Refine() {
    const InPhase in(log_, kRefine);
    if (!effort_.refine_all && HasProven(found_, task_.policy)) {
      ImproveProven();
    } else {
      ImproveAll();
    }
    const PlanCandidate& best = *QuickestOf(found_);
    if (!MayRepay(task_, best.variant(), best.seconds())) return;
    std::ranges::move(RefinedMeshes(search_, task_, task_.memory_bytes,
                                    LeftSeconds(), found_, log_.alternatives),
                      std::back_inserter(found_));
  }

  // Where the search's count of memory was too low, solves again.
  absl::Status LowerAndPrice() {
    const InPhase in(log_, kLower);
    MW_RETURN_IF_ERROR(WriteAll());
    for (int round = 0; round < task_.policy.solve.max_rounds; ++round) {
      TightenAll();
    }
    WriteMore();
    Tell(plans_);
    for (const Plan& one : plans_) {
      RecordWritten(task_, one, log_.alternatives);
    }
    return absl::OkStatus();
  }

  size_t Choose() {
    const InPhase in(log_, kChoose);
    return ChooseWritten(plans_, task_.memory_bytes, task_.policy);
  }

  void Prove(size_t chosen) {
    const InPhase in(log_, kProve);
    if (!Fits(plans_[chosen])) return;
    const double before = found_[chosen].plan().seconds;
    WrittenCandidate best = Proven({found_[chosen], std::move(plans_[chosen])});
    if (best.found.plan().seconds < before) {
      Tell({best.plan});
      RecordWritten(task_, best.plan, log_.alternatives);
    }
    found_[chosen] = std::move(best.found);
    plans_[chosen] = std::move(best.plan);
  }

  void ImproveProven() {
    for (PlanCandidate& found : found_) {
      if (found.gap() > task_.policy.prune.proven_gap) continue;
      found = Improved(found, task_.policy.solve.last_work,
                       task_.policy.solve.first_gap);
    }
  }

  void ImproveAll() {
    if (found_.size() > 1) {
      SideBySide(static_cast<int>(found_.size()), [&](int i) {
        found_[i] = Improved(found_[i], task_.policy.solve.second_work,
                             task_.policy.solve.first_gap);
      });
      found_ = Promising(std::move(found_), effort_.kept, task_.policy);
    }
    PlanCandidate& best = found_[IndexOfQuickest(found_)];
    best = Improved(best, LastWork(best), effort_.last_gap);
  }

  // Sweeps over large problems take more work.
  int64_t LastWork(const PlanCandidate& found) const {
    const auto& solve = task_.policy.solve;
    if (task_.request.expert != Expert::kAuto) return solve.last_work;
    const int64_t cells = CellsOf(found.variant().model, found.setting().mesh);
    return cells > solve.most_work / solve.work_of_cell
               ? solve.most_work
               : std::max(solve.last_work, solve.work_of_cell * cells);
  }

  // The search counts ops one by one; programs are priced with fusion and
  // combined collectives.
  absl::Status WriteAll() {
    std::vector<absl::StatusOr<Plan>> written(found_.size());
    SideBySide(static_cast<int>(found_.size()),
               [&](int i) { written[i] = WritePlan(task_, found_[i]); });
    for (absl::StatusOr<Plan>& one : written) {
      MW_ASSIGN_OR_RETURN(Plan plan, std::move(one));
      plans_.push_back(std::move(plan));
    }
    return absl::OkStatus();
  }

  // Programs that need more memory than the search counted, and less time than
  // those that fit: re-solve with a tighter memory limit.
  void TightenAll() {
    const Plan& best =
        plans_[ChooseWritten(plans_, task_.memory_bytes, task_.policy)];
    const double most =
        Fits(best) ? task_.policy.prune.as_good * best.predicted.step_seconds
                   : std::numeric_limits<double>::infinity();
    std::vector<int> too_large;
    for (int i = 0; i < std::ssize(plans_); ++i) {
      if (!Fits(plans_[i]) && plans_[i].predicted.step_seconds < most) {
        too_large.push_back(i);
      }
    }
    SideBySide(static_cast<int>(too_large.size()), [&](int i) {
      const int at = too_large[i];
      std::optional<WrittenCandidate> tighter = Tighter(found_[at], plans_[at]);
      if (!tighter.has_value()) return;
      found_[at] = std::move(tighter->found);
      plans_[at] = std::move(tighter->plan);
    });
  }

  // Lowers others of all, best first, until none is estimated to be faster than
  // the best program.
  void WriteMore() {
    std::vector<PlanCandidate> all = std::move(all_);
    std::erase_if(all, [&](const PlanCandidate& one) {
      return std::ranges::any_of(found_, [&](const PlanCandidate& other) {
        return one.setting() == other.setting();
      });
    });
    std::ranges::stable_sort(all, {}, &PlanCandidate::seconds);
    const Stopwatch watch;
    const double seconds = task_.policy.prune.share_for_more * LeftSeconds();
    for (PlanCandidate& one : all) {
      const Plan& best =
          plans_[ChooseWritten(plans_, task_.memory_bytes, task_.policy)];
      if (one.seconds() >= best.predicted.step_seconds) break;
      if (watch.seconds() >= seconds) {
        log_.notes.push_back(absl::StrCat(
            one.setting().mesh.ToString(), " may be as good: estimated at ",
            FormatSeconds(one.seconds()), ", not written for want of time"));
        break;
      }
      absl::StatusOr<Plan> plan = WritePlan(task_, one);
      if (!plan.ok()) continue;
      found_.push_back(std::move(one));
      plans_.push_back(*std::move(plan));
    }
  }

  // Of a candidate whose program is too large: another with less memory.
  std::optional<WrittenCandidate> Tighter(const PlanCandidate& found,
                                          const Plan& plan) const {
    const auto limit = static_cast<int64_t>(
        static_cast<double>(found.plan().peak_bytes) *
        task_.policy.solve.tighter * static_cast<double>(task_.memory_bytes) /
        static_cast<double>(plan.predicted.peak_bytes));
    const absl::StatusOr<PlanCandidate> sketch =
        search_.Sketch(found.shared_variant(), found.setting(), limit,
                       found.plan().axis_places);
    if (!sketch.ok()) return std::nullopt;
    PlanCandidate tighter = sketch->WithBound(found.plan().bound_seconds);
    absl::StatusOr<Plan> written = WritePlan(task_, tighter);
    if (!written.ok()) return std::nullopt;
    return WrittenCandidate{std::move(tighter), *std::move(written)};
  }

  // Refines a coarse candidate for its bound; takes what that turned out to
  // improve.
  WrittenCandidate Proven(WrittenCandidate one) const {
    if (one.found.plan().bound_seconds > 0) return one;
    PlanCandidate more =
        Refined(search_, one.found, task_.memory_bytes, LeftSeconds());
    if (more.plan().seconds < one.found.plan().seconds) {
      absl::StatusOr<Plan> better = WritePlan(task_, more);
      if (better.ok() && Fits(*better) &&
          better->predicted.step_seconds < one.plan.predicted.step_seconds) {
        return {std::move(more), *std::move(better)};
      }
    }
    one.found = one.found.WithBound(more.plan().bound_seconds);
    one.plan.gap = one.found.gap();
    return one;
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

  PlanCandidate Improved(const PlanCandidate& found, int64_t work,
                         double wanted_gap) const {
    return search_.Improved(found, WorkThatRepays(task_, found, work),
                            wanted_gap, LeftSeconds());
  }

  double LeftSeconds() const {
    return task_.request.time_limit_seconds - log_.watch.seconds();
  }

  const PlanTask& task_;
  const MeshSearch& search_;
  const SearchEffort& effort_;
  std::vector<PlanCandidate> all_;    // As given.
  std::vector<PlanCandidate> found_;  // Those that go on.
  std::vector<Plan> plans_;           // Of these, once they are lowered.
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

PlanCandidate Refined(const MeshSearch& search, const PlanCandidate& found,
                      int64_t memory_bytes, double seconds_left) {
  const PlanCandidate unbounded =
      found.WithBound(0).WithMemoryLimit(memory_bytes);
  return search.Improved(unbounded, search.policy().solve.second_work,
                         search.policy().solve.first_gap, seconds_left);
}

absl::StatusOr<Finished> FinishFound(const PlanTask& task,
                                     const MeshSearch& search,
                                     std::vector<PlanCandidate> found,
                                     const SearchEffort& effort, PlanLog& log) {
  return WholeFinish(task, search, std::move(found), effort, log).Run();
}

absl::StatusOr<Finished> FinishWhole(const PlanTask& task,
                                     const MeshSearch& search,
                                     WholeSearch& whole, PlanLog& log) {
  while (true) {
    MW_ASSIGN_OR_RETURN(
        Finished finished,
        FinishFound(task, search, whole.found(), whole.effort(), log));
    const WrittenCandidate& chosen = finished.chosen;
    if (chosen.plan.predicted.peak_bytes <= task.memory_bytes) return finished;
    whole.TrySmaller(chosen.found.variant()).IgnoreError();
    if (whole.found().empty()) return finished;
  }
}

}  // namespace meshwright
