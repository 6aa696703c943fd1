#include "meshwright/planner/expert_plans.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "meshwright/base/side_by_side.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/planner/finish_whole.h"
#include "meshwright/planner/found_plans.h"
#include "meshwright/planner/meshes_to_try.h"
#include "meshwright/planner/search_policy.h"

namespace meshwright {
namespace {

// Those that ask for something of the plan.
constexpr Expert kExperts[] = {Expert::kDp, Expert::kZero2, Expert::kZero3,
                               Expert::kMegatron, Expert::kSequence};

double QuickestSketch(const WholeSearch& whole) {
  double least = std::numeric_limits<double>::infinity();
  for (const MeshTime& one : whole.times()) {
    least = std::min(least, one.seconds);
  }
  return least;
}

class ExpertPlans {
 public:
  // `whole`, `own`: what the search found itself, and made of it.
  ExpertPlans(const PlanTask& task, const WholeSearch& whole,
              const Finished& own, const std::map<Recompute, Cuts>& cuts,
              const PlanLog& log)
      : task_(task),
        whole_(whole),
        own_(own),
        is_large_(task.IsLarge(*own.chosen.found.cut)),
        seconds_(own.chosen.found.seconds()),
        most_seconds_((is_large_ ? kSearchPolicy.behind
                                 : kSearchPolicy.experts.far_behind) *
                      QuickestSketch(whole)),
        cuts_(cuts),
        log_(log) {}

  // As if it were asked for.
  absl::StatusOr<Candidate> Of(Expert expert) const {
    if (log_.watch.seconds() > task_.request.time_limit_seconds) {
      return absl::DeadlineExceededError("no time left");
    }
    PlanRequest request = task_.request;
    request.expert = expert;
    request.report = nullptr;
    PlanTask task = task_.With(request);
    task.mode.keeps_finalists = false;
    const MeshSearch search(task);
    PlanLog log{.watch = log_.watch};  // What experts tried is of no interest.
    std::vector<Mesh> meshes = whole_.meshes();
    std::erase_if(meshes, [&](const Mesh& mesh) {
      return !Suits(mesh, expert) || !IsNear(mesh);
    });
    if (meshes.empty()) return absl::NotFoundError("no mesh");
    const bool is_soon_done =
        meshes.size() == 1 && meshes[0].axes().size() == 1;
    if (IsOnlySketched()) return Sketched(search, expert);
    if (!is_soon_done) {
      std::vector<Found> found = Sketches(search, expert);
      if (found.empty()) return absl::NotFoundError("far behind");
      MW_ASSIGN_OR_RETURN(Finished finished,
                          FinishFound(task, search, std::move(found), log));
      return std::move(finished.chosen);
    }
    std::map<Recompute, Cuts> cuts = cuts_;
    WholeSearch whole(task, search, std::move(meshes), cuts, log);
    whole.Try().IgnoreError();
    if (SecondsOf(whole.found()) >
        kSearchPolicy.experts.far_behind * seconds_) {
      return absl::NotFoundError("far behind");
    }
    MW_ASSIGN_OR_RETURN(Finished finished,
                        FinishWhole(task, search, whole, log));
    return std::move(finished.chosen);
  }

 private:
  // In the settings in which the search's own sketch is near its best.
  std::vector<Found> Sketches(const MeshSearch& search, Expert expert) const {
    std::vector<Found> sketches;
    std::vector<AxisPlaces> like;  // Of the best so far, to start from.
    if (IsOnlySketched()) like = own_.chosen.found.plan.placements;
    double least = std::numeric_limits<double>::infinity();
    for (const MeshTime& one : SettingsFor(expert)) {
      absl::StatusOr<Found> found =
          search.Sketch(one.cut, {one.mesh, task_.memory_bytes, expert}, like);
      if (!found.ok()) continue;
      const bool is_soon_done = is_large_ && one.mesh.axes().size() == 1;
      if (is_soon_done) {
        search.Improve(*found, kSearchPolicy.solve.last_work,
                       kSearchPolicy.solve.first_gap,
                       task_.request.time_limit_seconds - log_.watch.seconds());
      }
      if (found->seconds() <= least) {
        least = found->seconds();
        like = found->plan.placements;
      }
      if (found->seconds() <= kSearchPolicy.experts.far_behind * seconds_) {
        sketches.push_back(*std::move(found));
      }
    }
    return sketches;
  }

  // Quickest first, as the search's own sketches are; of large steps few.
  std::vector<MeshTime> SettingsFor(Expert expert) const {
    std::vector<MeshTime> settings;
    for (const MeshTime& one : whole_.times()) {
      if (Suits(one.mesh, expert) && one.seconds <= most_seconds_) {
        settings.push_back(one);
      }
    }
    std::ranges::stable_sort(settings, {}, &MeshTime::seconds);
    while (is_large_ && settings.size() > kSearchPolicy.prune.promising) {
      settings.pop_back();
    }
    return settings;
  }

  // The best of them, hardly searched further; not one that was written before.
  absl::StatusOr<Candidate> Sketched(const MeshSearch& search,
                                     Expert expert) const {
    std::vector<Found> found = Sketches(search, expert);
    if (found.empty()) return absl::NotFoundError("behind");
    std::ranges::stable_sort(found, {},
                             [](const Found& one) { return one.seconds(); });
    Found& best = found[0];
    const auto is_same = [&](const Found& one) {
      return one.cut == best.cut && one.task.mesh == best.task.mesh &&
             one.plan.placements == best.plan.placements &&
             one.plan.seconds == best.plan.seconds;
    };
    if (std::ranges::any_of(own_.written, is_same)) {
      return absl::AlreadyExistsError("the search's own");
    }
    MW_ASSIGN_OR_RETURN(Plan plan, WritePlan(task_, best));
    return Candidate{std::move(best), std::move(plan)};
  }

  // Of large steps, and of meshes on which all options at once are many.
  bool IsOnlySketched() const {
    return is_large_ || (task_.request.mesh.has_value() &&
                         task_.request.mesh->axes().size() > 2);
  }

  bool Suits(const Mesh& mesh, Expert expert) const {
    return task_.request.mesh.has_value() ||
           static_cast<int>(mesh.axes().size()) == AxesFor(expert);
  }

  // The search, which may do more than an expert, is not far behind there.
  bool IsNear(const Mesh& mesh) const {
    return std::ranges::any_of(whole_.times(), [&](const MeshTime& one) {
      return one.mesh == mesh && one.seconds <= most_seconds_;
    });
  }

  const PlanTask& task_;
  const WholeSearch& whole_;
  const Finished& own_;
  const bool is_large_;
  const double seconds_;       // As the search counts.
  const double most_seconds_;  // Of sketches where experts are looked at.
  const std::map<Recompute, Cuts>& cuts_;
  const PlanLog& log_;
};

// Its bound is then among all plans, not only experts'.
void TakeForOwn(const PlanTask& task, const MeshSearch& search,
                const std::vector<Found>& known, Candidate& expert) {
  Found& found = expert.found;
  found.expert = Expert::kAuto;
  double bound = BoundOn(known, *found.cut, found.task.mesh);
  if (bound == 0) {
    bound = SearchedOn(search, found, task.memory_bytes,
                       found.task.solve.time_limit_seconds)
                .plan.bound_seconds;
  }
  found.plan.bound_seconds = std::min(bound, found.plan.seconds);
  expert.plan.strategy = std::string(Name(task.request.expert));
  expert.plan.gap = GapOf(found);
}

}  // namespace

Plan UseExperts(const PlanTask& task, const MeshSearch& search,
                const WholeSearch& whole, const std::map<Recompute, Cuts>& cuts,
                Finished finished, PlanLog& log) {
  Plan& plan = finished.chosen.plan;
  if (task.request.expert != Expert::kAuto ||
      whole.meshes()[0].device_count() == 1) {
    return std::move(plan);
  }
  const Stopwatch watch;
  if (task.request.report) task.request.report("experts");
  const ExpertPlans experts(task, whole, finished, cuts, log);
  std::vector<absl::StatusOr<Candidate>> plans(std::size(kExperts));
  SideBySide(static_cast<int>(plans.size()),
             [&](int i) { plans[i] = experts.Of(kExperts[i]); });
  std::optional<Candidate> best;
  double least = (1 - kSearchPolicy.experts.gain) * plan.predicted.step_seconds;
  const double near =
      kSearchPolicy.experts.far_behind * plan.predicted.step_seconds;
  for (absl::StatusOr<Candidate>& one : plans) {
    if (!one.ok() || one->plan.predicted.peak_bytes > task.memory_bytes) {
      continue;
    }
    const double seconds = one->plan.predicted.step_seconds;
    const bool is_finalist = task.mode.keeps_finalists && seconds < near;
    if (seconds >= least && !is_finalist) continue;
    TakeForOwn(task, search, finished.written, *one);
    if (is_finalist) log.finalists.push_back(one->plan);
    if (seconds >= least) continue;
    least = seconds;
    best = *std::move(one);
  }
  log.seconds["experts"] += watch.seconds();
  return std::move(best.has_value() ? best->plan : plan);
}

}  // namespace meshwright
