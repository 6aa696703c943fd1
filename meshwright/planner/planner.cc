#include "meshwright/planner/planner.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "meshwright/base/side_by_side.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/base/stopwatch.h"
#include "meshwright/base/units.h"
#include "meshwright/planner/batch_axis.h"
#include "meshwright/planner/cut_step.h"
#include "meshwright/planner/lean_settings.h"
#include "meshwright/planner/leanest.h"
#include "meshwright/planner/mesh_search.h"
#include "meshwright/planner/meshes_to_try.h"
#include "meshwright/planner/stage_plan.h"
#include "meshwright/planner/stage_search.h"
#include "meshwright/planner/steering.h"
#include "meshwright/planner/summary.h"
#include "meshwright/planner/what_fits.h"
#include "meshwright/planner/write_plan.h"
#include "meshwright/search/memory_points.h"
#include "meshwright/search/plan_mesh.h"
#include "meshwright/search/step_model.h"

namespace meshwright {
namespace {

// What the runtime and the compiler need besides.
constexpr double kUsableMemory = 0.92;
// Meshes looked at together. Which ones are depends on what those before gave,
// so that it is not a matter of the machine's cores.
constexpr size_t kSideBySide = 2;

// How many more numbers of micro-batches are tried once one fits.
constexpr int kMoreCounts = 1;

// So many go on to the second round; of small steps more.
constexpr size_t kPromising = 2;
constexpr size_t kManyOps = 10000;

// Parts of the time without stages. With less, stages are finished first; with
// even less, plans without them need not be improved; with more, stages are not
// worth to be written (the search does not count all that there is).
constexpr double kClearlyFaster = 0.85;
constexpr double kFarFaster = 0.8;
constexpr double kWorthALook = 1.05;

class Planner {
 public:
  Planner(const Module& module, const Cluster& cluster, const Rates& rates,
          const PlanRequest& request)
      : module_(module),
        cluster_(cluster),
        rates_(rates),
        request_(request),
        limit_(request.memory_bytes.value_or(static_cast<int64_t>(
            kUsableMemory * static_cast<double>(cluster.device.memory_bytes)))),
        search_limit_(limit_),
        task_{module, cluster, rates, request, limit_},
        search_(cluster, rates, request),
        style_(FusionStyleFor(cluster.IsCpu())) {}

  absl::StatusOr<Plan> Run() {
    MW_ASSIGN_OR_RETURN(meshes_, MeshesToTry(cluster_, request_));
    MW_RETURN_IF_ERROR(CheckSteering(request_));
    MW_RETURN_IF_ERROR(KeepBatchMeshes(module_, request_, meshes_));
    std::vector<int64_t> counts = Counts();
    MW_ASSIGN_OR_RETURN(Plan plan, request_.leanest_below.has_value()
                                       ? Leanest(counts)
                                       : Search(counts));
    seconds_["total"] = watch_.seconds();
    plan.seconds = seconds_;
    return plan;
  }

 private:
  // With stages and without, as far as that is promising.
  absl::StatusOr<Plan> Search(const std::vector<int64_t>& counts) {
    const bool may_be_whole = request_.stages.value_or(1) == 1;
    absl::Status last = may_be_whole ? TryCounts(counts) : absl::OkStatus();
    absl::StatusOr<StageCandidate> staged = TryStages();
    absl::StatusOr<Plan> plan = absl::NotFoundError("no plan yet");
    const bool stage_first =
        staged.ok() && staged->seconds < kClearlyFaster * BestSeconds();
    if (stage_first) {
      plan = FinishStages(*staged);
      if (plan.ok() && Fits(*plan) &&
          plan->predicted.step_seconds < kFarFaster * BestSeconds()) {
        return plan;
      }
    }
    if (!may_be_whole) {
      MW_RETURN_IF_ERROR(staged.status());
      if (plan.ok() && Fits(*plan)) return plan;
      return plan.ok() ? StagesDoNotFit(*plan) : plan.status();
    }
    absl::StatusOr<Plan> whole = Finish(last);
    if (staged.ok() && !stage_first &&
        (!whole.ok() ||
         staged->seconds < kWorthALook * whole->predicted.step_seconds)) {
      plan = FinishStages(*staged);
    }
    if (!plan.ok() || !Fits(*plan)) return whole;
    return whole.ok() &&
                   whole->predicted.step_seconds <= plan->predicted.step_seconds
               ? whole
               : plan;
  }

  // Sketches of plans without stages.
  absl::Status TryCounts(const std::vector<int64_t>& counts) {
    absl::Status last = absl::OkStatus();
    int after_first = 0;
    for (const int64_t count : counts) {
      if (!found_.empty() && ++after_first > kMoreCounts) break;
      const absl::StatusOr<std::shared_ptr<const CutStep>> cut = Cut(count);
      if (!cut.ok()) {
        // This many do not divide the batch, or the step cannot be cut at all.
        if (last.ok() || request_.micro_batches.has_value()) {
          last = cut.status();
        }
        continue;
      }
      const double before = BestSeconds();
      TryMeshes(*cut, last);
      refused_ = absl::IsInvalidArgument(last) && found_.empty();
      if (refused_) break;
      // With one micro-batch, or when more of them made it worse, it is done.
      if (!found_.empty() && (count == 1 || !(BestSeconds() < before))) break;
    }
    return last;
  }

  // The best of them, improved and written; `last` is what was wrong with the
  // last that was not possible.
  absl::StatusOr<Plan> Finish(const absl::Status& last) {
    if (found_.empty()) {
      // A batch that cannot be cut further is not the user's mistake.
      const bool fits_nowhere =
          !refused_ && (last.ok() || absl::IsResourceExhausted(last) ||
                        absl::IsDeadlineExceeded(last) ||
                        !request_.micro_batches.has_value());
      return fits_nowhere ? NothingFits() : last;
    }
    KeepPromising();
    if (found_.size() > 1) {
      SideBySide(static_cast<int>(found_.size()),
                 [&](int i) { Improve(found_[i], kSecondWork, kFirstGap); });
      KeepPromising();
    }
    Improve(found_[0], kLastWork, kLastGap);
    seconds_["search"] =
        watch_.seconds() - seconds_["model"] - seconds_["partition"];
    MW_ASSIGN_OR_RETURN(Plan plan, WriteBest());
    for (int round = 0; round < kMaxRounds; ++round) {
      if (Fits(plan)) break;
      absl::StatusOr<Plan> tighter = Tighten(found_[0], plan);
      if (!tighter.ok()) break;
      plan = *std::move(tighter);
    }
    if (!Fits(plan)) return NothingFits();
    return plan;
  }

  // Sketches of plans with stages.
  absl::StatusOr<StageCandidate> TryStages() {
    // Experts have stages only where they are asked for.
    if (request_.stages.value_or(request_.expert == Expert::kAuto ? 2 : 1) ==
            1 ||
        cluster_.device_count() == 1) {
      return absl::NotFoundError("no stages");
    }
    MW_RETURN_IF_ERROR(Cut(1).status());
    const Stopwatch watch;
    absl::StatusOr<StageCandidate> best =
        StageSearch(task_, search_, style_, cuts_,
                    [&](const Mesh& mesh, const CutStep& cut, int32_t stages,
                        const absl::StatusOr<StageCandidate>& candidate) {
                      Note(mesh, cut, stages, candidate);
                    })
            .Best();
    seconds_["stages"] += watch.seconds();
    return best;
  }

  void Note(const Mesh& mesh, const CutStep& cut, int32_t stages,
            const absl::StatusOr<StageCandidate>& candidate) {
    alternatives_.push_back(
        {.mesh =
             NamedMesh(request_, candidate.ok() ? &candidate->found : nullptr,
                       cut.model, mesh)
                 .ToString(),
         .micro_batches = cut.count,
         .stages = stages,
         .seconds = candidate.ok() ? candidate->seconds : 0,
         .why_not = std::string(candidate.status().message())});
  }

  absl::StatusOr<Plan> FinishStages(StageCandidate& staged) {
    const Stopwatch watch;
    MW_ASSIGN_OR_RETURN(
        Plan plan, meshwright::FinishStages(
                       task_, search_,
                       request_.time_limit_seconds - watch_.seconds(), staged));
    seconds_["stages"] += watch.seconds();
    return WithAlternatives(std::move(plan));
  }

  absl::Status StagesDoNotFit(const Plan& plan) const {
    return absl::ResourceExhaustedError(absl::StrCat(
        "with ", plan.stages(), " stages a device would need ",
        FormatBytes(plan.predicted.peak_bytes), ", it may use ",
        FormatBytes(limit_), "; without --stages any number is tried"));
  }

  absl::StatusOr<std::shared_ptr<const CutStep>> Cut(int64_t count) {
    std::shared_ptr<const CutStep>& known = cuts_[count];
    if (known == nullptr) {
      const Stopwatch watch;
      absl::StatusOr<std::shared_ptr<const CutStep>> cut =
          CutStep::Of(module_, count, style_);
      seconds_["model"] += watch.seconds();
      if (!cut.ok()) cuts_.erase(count);
      MW_ASSIGN_OR_RETURN(known, std::move(cut));
    }
    return known;
  }

  // The program takes more than the search counted: it has to aim lower.
  absl::StatusOr<Plan> Tighten(Found& found, const Plan& plan) {
    search_limit_ =
        static_cast<int64_t>(static_cast<double>(search_limit_) * kTighter *
                             static_cast<double>(limit_) /
                             static_cast<double>(plan.predicted.peak_bytes));
    MW_ASSIGN_OR_RETURN(Found tighter,
                        TryMesh(found.cut, found.expert, found.task.mesh,
                                found.plan.placements));
    tighter.plan.bound_seconds = found.plan.bound_seconds;
    found = std::move(tighter);
    return Write(found);
  }

  // The search counts ops one by one; of its best plans the one whose program
  // is quickest, fused and combined as it will run, and fits.
  absl::StatusOr<Plan> WriteBest() {
    std::optional<Plan> best;
    size_t index = 0;
    for (Found& found : experts_) {
      // What bounds all plans of a mesh bounds an expert's.
      for (const Found& other : found_) {
        if (other.cut != found.cut || !(other.task.mesh == found.task.mesh)) {
          continue;
        }
        found.plan.bound_seconds = std::min(
            found.plan.seconds,
            std::max(found.plan.bound_seconds, other.plan.bound_seconds));
      }
    }
    for (Found& found : experts_) found_.push_back(std::move(found));
    experts_.clear();
    const Stopwatch watch;
    std::vector<absl::StatusOr<Plan>> plans(found_.size());
    SideBySide(static_cast<int>(found_.size()),
               [&](int i) { plans[i] = Write(found_[i]); });
    seconds_["partition"] += watch.seconds();
    for (size_t i = 0; i < found_.size(); ++i) {
      MW_ASSIGN_OR_RETURN(Plan plan, std::move(plans[i]));
      const auto rank = [&](const Plan& of) {
        return std::make_pair(of.predicted.peak_bytes > limit_,
                              of.predicted.step_seconds);
      };
      if (best.has_value() && !(rank(plan) < rank(*best))) continue;
      best = std::move(plan);
      index = i;
    }
    std::swap(found_[0], found_[index]);
    return *std::move(best);
  }

  std::vector<int64_t> Counts() {
    if (request_.micro_batches.has_value()) return {*request_.micro_batches};
    const StepModel& model = (*Cut(1))->model;
    batch_ = BatchSize(model);
    return CountsToTry(model, meshes_,
                       request_.leanest_below.has_value() ? INT64_MAX : limit_);
  }

  // Some axis takes a whole number of a micro-batch's examples.
  bool Suits(const Mesh& mesh, int64_t count) const {
    if (count == 1 || request_.micro_batches.has_value()) return true;
    return std::any_of(
        mesh.axes().begin(), mesh.axes().end(),
        [&](const MeshAxis& axis) { return batch_ / count % axis.size == 0; });
  }

  double BestSeconds() const {
    double best = std::numeric_limits<double>::infinity();
    for (const Found& found : found_) {
      best = std::min(best, found.plan.seconds);
    }
    return best;
  }

  void KeepPromising() {
    std::stable_sort(found_.begin(), found_.end(),
                     [](const Found& a, const Found& b) {
                       return a.plan.seconds < b.plan.seconds;
                     });
    const size_t kept = found_[0].cut->model.graph.ops.size() > kManyOps
                            ? kPromising
                            : 2 * kPromising;
    if (found_.size() > kept) {
      found_.erase(found_.begin() + static_cast<int64_t>(kept), found_.end());
    }
  }

  void TryMeshes(const std::shared_ptr<const CutStep>& cut,
                 absl::Status& last) {
    size_t next = 0;
    while (next < meshes_.size()) {
      if (watch_.seconds() > request_.time_limit_seconds && !found_.empty()) {
        if (notes_.empty()) {
          notes_.push_back("the time limit came before all meshes were tried");
        }
        break;
      }
      // The first alone: what it finds is where the others start.
      const size_t most = like_.empty() ? 1 : kSideBySide;
      std::vector<Mesh> batch;
      for (; next < meshes_.size() && batch.size() < most; ++next) {
        const Mesh& mesh = meshes_[next];
        if (!Suits(mesh, cut->count) ||
            IsHopeless(mesh, times_, BestSeconds(), cluster_)) {
          continue;
        }
        if (request_.report) {
          request_.report(absl::StrCat(mesh.ToString(), " x", cut->count));
        }
        batch.push_back(mesh);
      }
      std::vector<absl::StatusOr<Found>> found(batch.size());
      SideBySide(static_cast<int>(batch.size()), [&](int i) {
        found[i] = TryMesh(cut, request_.expert, batch[i], like_);
      });
      for (size_t i = 0; i < batch.size(); ++i) {
        Keep(batch[i], *cut, std::move(found[i]), last);
      }
    }
    if (request_.expert == Expert::kAuto && !request_.mesh.has_value() &&
        cut->model.graph.ops.size() <= kManyOps) {
      TryExperts(cut);
    }
  }

  void Keep(const Mesh& mesh, const CutStep& cut, absl::StatusOr<Found> found,
            absl::Status& last) {
    Alternative alternative{
        .mesh =
            NamedMesh(request_, found.ok() ? &*found : nullptr, cut.model, mesh)
                .ToString(),
        .micro_batches = cut.count};
    if (!found.ok()) {
      last = found.status();
      alternative.why_not = std::string(last.message());
    } else {
      alternative.seconds = found->plan.seconds;
      alternative.bound = found->plan.bound_seconds;
      if (like_.empty() || found->plan.seconds <= BestSeconds()) {
        like_ = found->plan.placements;
      }
      times_.push_back({mesh, found->plan.seconds});
      found_.push_back(*std::move(found));
    }
    alternatives_.push_back(std::move(alternative));
  }

  // What experts would do may be better than the search's best, by the little
  // that it does not count (fusions, combined collectives).
  void TryExperts(const std::shared_ptr<const CutStep>& cut) {
    for (const Expert expert : {Expert::kDp, Expert::kMegatron}) {
      for (const Mesh& mesh : meshes_) {
        if (static_cast<int>(mesh.axes().size()) != AxesFor(expert)) continue;
        absl::StatusOr<Found> found = TryMesh(cut, expert, mesh, {});
        if (found.ok()) experts_.push_back(*std::move(found));
      }
    }
  }

  absl::StatusOr<Found> TryMesh(const std::shared_ptr<const CutStep>& cut,
                                Expert expert, const Mesh& mesh,
                                const std::vector<AxisPlaces>& like) const {
    return search_.Sketch(cut, {mesh, search_limit_, expert}, like);
  }

  void Improve(Found& found, int64_t work, double wanted_gap) const {
    search_.Improve(found, work, wanted_gap,
                    request_.time_limit_seconds - watch_.seconds());
  }

  // The plan that needs least, if that is little enough; else what would do.
  absl::StatusOr<Plan> NothingFits() {
    MW_RETURN_IF_ERROR(CheckPossible());
    absl::StatusOr<Plan> leanest = LeanestPlan();
    if (leanest.ok() && Fits(*leanest)) return leanest;
    return DoesNotFit(
        FindWhatFits(module_, cluster_, rates_, request_, limit_, leanest),
        meshes_[0].device_count(), limit_);
  }

  absl::StatusOr<Plan> Leanest(const std::vector<int64_t>& counts) {
    absl::Status last = absl::OkStatus();
    std::map<int64_t, std::shared_ptr<const CutStep>> cuts;
    for (const int64_t count : CountsOfLeast(counts)) {
      absl::StatusOr<std::shared_ptr<const CutStep>> cut = Cut(count);
      if (cut.ok()) {
        cuts[count] = *std::move(cut);
      } else {
        last = cut.status();
      }
    }
    return PlanLeanest(task_, search_, meshes_, cuts, last);
  }

  absl::StatusOr<Plan> LeanestPlan() const {
    return MakePlan(module_, cluster_, rates_, LeanestOf(request_, INT64_MAX));
  }

  bool Fits(const Plan& plan) const {
    return plan.predicted.peak_bytes <= limit_;
  }

  // Whether the step can do without what is forbidden, memory or not.
  absl::Status CheckPossible() {
    if (request_.forbidden.empty()) return absl::OkStatus();
    MW_ASSIGN_OR_RETURN(const auto cut,
                        Cut(request_.micro_batches.value_or(1)));
    search_limit_ = kNoLimit;
    for (const Mesh& mesh : meshes_) {
      if (TryMesh(cut, request_.expert, mesh, {}).ok()) return absl::OkStatus();
    }
    return NoWayWithout(request_);
  }

  absl::StatusOr<Plan> Write(const Found& found) const {
    MW_ASSIGN_OR_RETURN(Plan plan, WritePlan(task_, found));
    return WithAlternatives(std::move(plan));
  }

  Plan WithAlternatives(Plan plan) const {
    plan.notes = notes_;
    plan.alternatives = BestFirst(alternatives_);
    return plan;
  }

  const Module& module_;
  const Cluster& cluster_;
  const Rates& rates_;
  const PlanRequest& request_;
  const int64_t limit_;
  int64_t search_limit_;  // What the search may count, to stay below it.
  const PlanTask task_;
  const MeshSearch search_;
  const FusionStyle style_;
  // By number of micro-batches.
  std::map<int64_t, std::shared_ptr<const CutStep>> cuts_;
  Stopwatch watch_;
  std::vector<Mesh> meshes_;
  int64_t batch_ = 1;
  std::vector<Alternative> alternatives_;
  std::vector<Found> found_;
  bool refused_ = false;          // What was asked for cannot be.
  std::vector<AxisPlaces> like_;  // Of the best so far, to start from.
  std::vector<Found> experts_;
  std::vector<MeshTime> times_;
  std::vector<std::string> notes_;
  std::map<std::string, double> seconds_;
};

}  // namespace

absl::StatusOr<Plan> MakePlan(const Module& module, const Cluster& cluster,
                              const Rates& rates, const PlanRequest& request) {
  return Planner(module, cluster, rates, request).Run();
}

}  // namespace meshwright
