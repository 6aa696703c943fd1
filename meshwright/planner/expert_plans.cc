#include "meshwright/planner/expert_plans.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "meshwright/base/side_by_side.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/planner/finish_whole.h"
#include "meshwright/planner/meshes_to_try.h"
#include "meshwright/planner/plan_candidates.h"
#include "meshwright/planner/search_policy.h"

namespace meshwright {
namespace {

// Those that set requirements on a plan.
constexpr Expert kExpertsTried[] = {Expert::kDp, Expert::kZero2, Expert::kZero3,
                                    Expert::kMegatron, Expert::kSequence};

double QuickestSketch(const WholeSearch& whole) {
  double least = std::numeric_limits<double>::infinity();
  for (const SettingTime& one : whole.times()) {
    least = std::min(least, one.seconds);
  }
  return least;
}

class ExpertPlans {
 public:
  // `whole`, `own`: the search's own candidates, and the plan made from them.
  ExpertPlans(const PlanTask& task, const WholeSearch& whole,
              const Finished& own, const Variants& variants, const PlanLog& log)
      : task_(task),
        whole_(whole),
        own_(own),
        effort_(task.EffortFor(own.chosen.found.variant())),
        seconds_(own.chosen.found.seconds()),
        most_seconds_(effort_.expert_behind * QuickestSketch(whole)),
        variants_(variants),
        log_(log) {}

  // The plan as if the user had requested this expert.
  absl::StatusOr<WrittenCandidate> Of(Expert expert) const {
    if (log_.watch.seconds() > task_.request.time_limit_seconds) {
      return absl::DeadlineExceededError("no time left");
    }
    PlanRequest request = task_.request;
    request.expert = expert;
    request.report = nullptr;
    PlanTask task = task_.With(request);
    task.mode.keeps_finalists = false;
    const MeshSearch search(task);
    // The alternatives that experts tried are not recorded.
    PlanLog log{.watch = log_.watch};
    std::vector<Mesh> meshes = whole_.meshes();
    std::erase_if(meshes, [&](const Mesh& mesh) {
      return !Suits(mesh, expert) || !IsNear(mesh);
    });
    if (meshes.empty()) return absl::NotFoundError("no mesh");
    const bool is_soon_done =
        meshes.size() == 1 && meshes[0].axes().size() == 1;
    if (IsOnlySketched()) return Sketched(search, expert);
    if (!is_soon_done) {
      std::vector<PlanCandidate> found = Sketches(search, expert);
      if (found.empty()) return absl::NotFoundError("far behind");
      MW_ASSIGN_OR_RETURN(WrittenCandidate sketched, QuickestWritten(found));
      if (sketched.plan.predicted.step_seconds >
          task_.policy.experts.searched_on *
              own_.chosen.plan.predicted.step_seconds) {
        return sketched;
      }
      // That of the setting in which the search is fastest.
      const SearchEffort& effort = task.EffortFor(found.front().variant());
      MW_ASSIGN_OR_RETURN(
          Finished finished,
          FinishFound(task, search, std::move(found), effort, log));
      return std::move(finished.chosen);
    }
    // What is tried here is not preferred afterwards (Variants::CountsMade).
    Variants variants = variants_;
    WholeSearch whole(task, search, std::move(meshes), variants, log);
    whole.Try().IgnoreError();
    if (SecondsOf(whole.found()) > task_.policy.experts.far_behind * seconds_) {
      return absl::NotFoundError("far behind");
    }
    MW_ASSIGN_OR_RETURN(Finished finished,
                        FinishWhole(task, search, whole, log));
    return std::move(finished.chosen);
  }

 private:
  // Coarse candidates in the settings in which the search's own candidate is
  // near its best.
  std::vector<PlanCandidate> Sketches(const MeshSearch& search,
                                      Expert expert) const {
    std::vector<PlanCandidate> sketches;
    std::vector<AxisPlaces> warm_start;  // Of the best candidate so far.
    if (IsOnlySketched()) warm_start = own_.chosen.found.plan().axis_places;
    double least = std::numeric_limits<double>::infinity();
    Variants variants = variants_;
    for (const SettingTime& one : SettingsFor(expert)) {
      absl::StatusOr<PlanCandidate> found = search.Sketch(
          *variants.Get(one.setting.micro_batches, one.setting.recompute),
          one.setting.With(expert), task_.memory_bytes, warm_start);
      if (!found.ok()) continue;
      const bool is_soon_done =
          !effort_.refine_experts && one.setting.mesh.axes().size() == 1;
      if (is_soon_done) {
        found = search.Improved(
            *found, task_.policy.solve.last_work, task_.policy.solve.first_gap,
            task_.request.time_limit_seconds - log_.watch.seconds());
      }
      if (found->seconds() <= least) {
        least = found->seconds();
        warm_start = found->plan().axis_places;
      }
      if (found->seconds() <= task_.policy.experts.far_behind * seconds_) {
        sketches.push_back(*std::move(found));
      }
    }
    return sketches;
  }

  // Fastest first, by the search's own candidates.
  std::vector<SettingTime> SettingsFor(Expert expert) const {
    std::vector<SettingTime> settings;
    for (const SettingTime& one : whole_.times()) {
      if (Suits(one.setting.mesh, expert) && one.seconds <= most_seconds_) {
        settings.push_back(one);
      }
    }
    std::ranges::stable_sort(settings, {}, &SettingTime::seconds);
    while (settings.size() > effort_.expert_settings) settings.pop_back();
    return settings;
  }

  // The best of the coarse candidates, hardly refined; not one that was lowered
  // before.
  absl::StatusOr<WrittenCandidate> Sketched(const MeshSearch& search,
                                            Expert expert) const {
    const std::vector<PlanCandidate> found = Sketches(search, expert);
    if (found.empty()) return absl::NotFoundError("behind");
    const PlanCandidate& best = *QuickestOf(found);
    const auto is_same = [&](const PlanCandidate& one) {
      return &one.variant() == &best.variant() &&
             one.setting().mesh == best.setting().mesh &&
             one.plan().axis_places == best.plan().axis_places &&
             one.plan().seconds == best.plan().seconds;
    };
    if (std::ranges::any_of(own_.written, is_same)) {
      return absl::AlreadyExistsError("the search's own");
    }
    MW_ASSIGN_OR_RETURN(Plan plan, WritePlan(task_, best));
    return WrittenCandidate{best, std::move(plan)};
  }

  // Lowered, hardly refined.
  absl::StatusOr<WrittenCandidate> QuickestWritten(
      const std::vector<PlanCandidate>& sketches) const {
    std::vector<Plan> plans;
    for (const PlanCandidate& one : sketches) {
      MW_ASSIGN_OR_RETURN(Plan plan, WritePlan(task_, one));
      plans.push_back(std::move(plan));
    }
    const size_t best = ChooseWritten(plans, task_.memory_bytes, task_.policy);
    return WrittenCandidate{sketches[best], std::move(plans[best])};
  }

  // Also on meshes on which the problem with all options is large.
  bool IsOnlySketched() const {
    return !effort_.refine_experts || (task_.request.mesh.has_value() &&
                                       task_.request.mesh->axes().size() > 2);
  }

  bool Suits(const Mesh& mesh, Expert expert) const {
    return task_.request.mesh.has_value() ||
           static_cast<int>(mesh.axes().size()) <= MostAxes(expert);
  }

  // Whether the search, which may do more than an expert, is not far behind
  // there.
  bool IsNear(const Mesh& mesh) const {
    return std::ranges::any_of(whole_.times(), [&](const SettingTime& one) {
      return one.setting.mesh == mesh && one.seconds <= most_seconds_;
    });
  }

  const PlanTask& task_;
  const WholeSearch& whole_;
  const Finished& own_;
  const SearchEffort& effort_;
  const double seconds_;  // As the search counts.
  // Limit for candidates in a setting where experts are tried.
  const double most_seconds_;
  const Variants& variants_;
  const PlanLog& log_;
};

// As one of the search's own: its bound then applies to all plans, not only the
// expert's.
WrittenCandidate TakenForOwn(const PlanTask& task, const MeshSearch& search,
                             const std::vector<PlanCandidate>& known,
                             WrittenCandidate expert) {
  const PlanCandidate own = expert.found.With(Expert::kAuto);
  double bound = BoundOn(known, own.variant(), own.setting());
  if (bound == 0) {
    bound =
        Refined(search, own, task.memory_bytes, task.request.time_limit_seconds)
            .plan()
            .bound_seconds;
  }
  expert.found = own.WithBound(bound);
  expert.plan.strategy = task.request.expert;
  expert.plan.gap = expert.found.gap();
  return expert;
}

}  // namespace

Plan UseExperts(const PlanTask& task, const MeshSearch& search,
                const WholeSearch& whole, const Variants& variants,
                Finished finished, PlanLog& log) {
  Plan& plan = finished.chosen.plan;
  if (task.request.expert != Expert::kAuto ||
      whole.meshes()[0].device_count() == 1) {
    return std::move(plan);
  }
  const InPhase in(log, kExperts);
  if (task.request.report) task.request.report("experts");
  const ExpertPlans experts(task, whole, finished, variants, log);
  std::vector<absl::StatusOr<WrittenCandidate>> plans(std::size(kExpertsTried));
  SideBySide(static_cast<int>(plans.size()),
             [&](int i) { plans[i] = experts.Of(kExpertsTried[i]); });
  std::optional<WrittenCandidate> best;
  double least = (1 - task.policy.experts.gain) * plan.predicted.step_seconds;
  const double near =
      task.policy.experts.far_behind * plan.predicted.step_seconds;
  for (absl::StatusOr<WrittenCandidate>& one : plans) {
    if (!one.ok() || one->plan.predicted.peak_bytes > task.memory_bytes) {
      continue;
    }
    const double seconds = one->plan.predicted.step_seconds;
    const bool is_finalist = task.mode.keeps_finalists && seconds < near;
    if (seconds >= least && !is_finalist) continue;
    *one = TakenForOwn(task, search, finished.written, *std::move(one));
    if (is_finalist) log.finalists.push_back(one->plan);
    if (seconds >= least) continue;
    least = seconds;
    best = *std::move(one);
  }
  return std::move(best.has_value() ? best->plan : plan);
}

}  // namespace meshwright
