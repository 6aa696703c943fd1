#include "meshwright/planner/expert_plans.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "meshwright/base/status_macros.h"
#include "meshwright/planner/finish_whole.h"
#include "meshwright/planner/found_plans.h"
#include "meshwright/planner/meshes_to_try.h"

namespace meshwright {
namespace {

// Those that ask for something of the plan.
constexpr Expert kExperts[] = {Expert::kDp, Expert::kZero2, Expert::kZero3,
                               Expert::kMegatron, Expert::kSequence};

// A sketch that takes so much longer than the best is not worth a program.
constexpr double kFarBehind = 1.15;
// The same of a large step, and of the search's own sketch of the same.
constexpr double kBehind = 1.05;
// Less is no reason to prefer an expert's plan, of which less is proven.
constexpr double kGain = 0.0005;

struct ExpertPlan {
  Found found;
  Plan plan;
};

class ExpertPlans {
 public:
  ExpertPlans(const PlanTask& task, const FusionStyle& style,
              const WholeSearch& whole, double seconds,
              std::map<Recompute, Cuts>& cuts, PlanLog& log)
      : task_(task),
        style_(style),
        whole_(whole),
        seconds_(seconds),
        cuts_(cuts),
        log_(log) {}

  // As if it were asked for.
  absl::StatusOr<ExpertPlan> Of(Expert expert) {
    std::vector<Mesh> meshes = whole_.meshes();
    std::erase_if(meshes, [&](const Mesh& mesh) {
      return !Suits(mesh, expert) || !IsNear(mesh, kFarBehind);
    });
    if (meshes.empty()) return absl::NotFoundError("no mesh");
    PlanRequest request = task_.request;
    request.expert = expert;
    const PlanTask task{task_.module, task_.cluster, task_.rates, request,
                        task_.memory_bytes};
    const MeshSearch search(task.cluster, task.rates, task.request);
    PlanLog log{.watch = log_.watch};  // What experts tried is of no interest.
    WholeSearch whole(task, search, std::move(meshes), style_, cuts_, log);
    whole.Try().IgnoreError();
    if (SecondsOf(whole.found()) > kFarBehind * seconds_) {
      return absl::NotFoundError("far behind");
    }
    MW_ASSIGN_OR_RETURN(Plan plan, FinishWhole(task, search, whole, log));
    if (whole.found().empty()) return absl::NotFoundError("does not fit");
    return ExpertPlan{std::move(whole.found()[0]), std::move(plan)};
  }

  // Where the search found something about as good.
  absl::StatusOr<ExpertPlan> OfLarge(const MeshSearch& search,
                                     const std::vector<Found>& known,
                                     Expert expert) {
    std::optional<Found> best;
    for (const MeshTime& one : whole_.times()) {
      if (!Suits(one.mesh, expert) || one.seconds > kBehind * seconds_) {
        continue;
      }
      absl::StatusOr<Found> found =
          search.Sketch(one.cut, {one.mesh, task_.memory_bytes, expert}, {});
      if (found.ok() && found->plan.seconds <= kBehind * seconds_ &&
          (!best || found->plan.seconds < best->plan.seconds)) {
        best = *std::move(found);
      }
    }
    if (!best) return absl::NotFoundError("behind");
    if (best->task.mesh.axes().size() == 1) {  // Soon done.
      search.Improve(*best, kLastWork, kFirstGap,
                     task_.request.time_limit_seconds - log_.watch.seconds());
    }
    const bool is_known = std::ranges::any_of(known, [&](const Found& one) {
      return one.cut == best->cut && one.task.mesh == best->task.mesh &&
             one.plan.placements == best->plan.placements &&
             one.plan.seconds == best->plan.seconds;
    });
    if (is_known) return absl::AlreadyExistsError("the search's own");
    MW_ASSIGN_OR_RETURN(Plan plan, WritePlan(task_, *best));
    return ExpertPlan{*std::move(best), std::move(plan)};
  }

 private:
  bool Suits(const Mesh& mesh, Expert expert) const {
    return task_.request.mesh.has_value() ||
           static_cast<int>(mesh.axes().size()) == AxesFor(expert);
  }

  // The search, which may do more than an expert, is not far behind there.
  bool IsNear(const Mesh& mesh, double factor) const {
    return std::ranges::any_of(whole_.times(), [&](const MeshTime& one) {
      return one.mesh == mesh && one.seconds <= factor * seconds_;
    });
  }

  const PlanTask& task_;
  const FusionStyle& style_;
  const WholeSearch& whole_;
  const double seconds_;  // Of the search's best, as it counts.
  std::map<Recompute, Cuts>& cuts_;
  PlanLog& log_;
};

// The bound of an expert's plan among all plans, not only experts'.
void Bound(const MeshSearch& search, const std::vector<Found>& known,
           Found& found) {
  found.expert = Expert::kAuto;
  double bound = BoundOn(known, *found.cut, found.task.mesh);
  if (bound == 0) {
    Found free = found;
    free.plan.bound_seconds = 0;
    search.Improve(free, kSecondWork, kFirstGap,
                   free.task.solve.time_limit_seconds);
    bound = free.plan.bound_seconds;
  }
  found.plan.bound_seconds = std::min(bound, found.plan.seconds);
}

}  // namespace

void UseExperts(const PlanTask& task, const MeshSearch& search,
                const FusionStyle& style, WholeSearch& whole,
                std::map<Recompute, Cuts>& cuts, PlanLog& log, Plan& plan) {
  if (task.request.expert != Expert::kAuto ||
      whole.meshes()[0].device_count() == 1) {
    return;
  }
  const Stopwatch watch;
  const Found& own = whole.found()[0];
  const bool is_large = own.cut->model.graph.ops.size() > kManyOps;
  ExpertPlans experts(task, style, whole, own.plan.seconds, cuts, log);
  std::optional<ExpertPlan> best;
  double least = (1 - kGain) * plan.predicted.step_seconds;
  for (const Expert expert : kExperts) {
    if (log.watch.seconds() > task.request.time_limit_seconds) break;
    absl::StatusOr<ExpertPlan> one =
        is_large ? experts.OfLarge(search, whole.found(), expert)
                 : experts.Of(expert);
    if (!one.ok() || one->plan.predicted.peak_bytes > task.memory_bytes ||
        one->plan.predicted.step_seconds >= least) {
      continue;
    }
    least = one->plan.predicted.step_seconds;
    best = *std::move(one);
  }
  if (best.has_value()) {
    Bound(search, whole.found(), best->found);
    plan = std::move(best->plan);
    plan.strategy = std::string(Name(task.request.expert));
    plan.gap = GapOf(best->found);
    std::swap(whole.found()[0], best->found);
  }
  log.seconds["experts"] += watch.seconds();
}

}  // namespace meshwright
