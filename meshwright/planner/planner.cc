#include "meshwright/planner/planner.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "meshwright/base/side_by_side.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/base/stopwatch.h"
#include "meshwright/planner/batch_axis.h"
#include "meshwright/planner/cut_step.h"
#include "meshwright/planner/find_plan.h"
#include "meshwright/planner/found_plans.h"
#include "meshwright/planner/lean_settings.h"
#include "meshwright/planner/leanest.h"
#include "meshwright/planner/mesh_search.h"
#include "meshwright/planner/meshes_to_try.h"
#include "meshwright/planner/refine_mesh.h"
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
// Meshes looked at together; not a matter of the machine's cores, since which
// ones are depends on what those before gave.
constexpr size_t kSideBySide = 2;

// How many more numbers of micro-batches are tried once one fits.
constexpr int kMoreCounts = 1;

// Of a micro-batch for each device: without recomputation, more hardly fit.
constexpr int64_t kFewExamples = 4;
constexpr int64_t kManyExamples = 64;
// Micro-batches below which nothing fits; then first what is soon found.
constexpr int64_t kFarTooLarge = 4;
constexpr size_t kSoonFound = 4;  // Meshes that are looked at first then.
// So much longer for want of memory, a step is worth to be recomputed; there is
// no want as long as less of the memory is used.
constexpr double kMemoryCosts = 1.05;
constexpr double kTight = 0.9;

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
    absl::Status last = may_be_whole ? TryWhole(counts) : absl::OkStatus();
    absl::StatusOr<std::vector<StageCandidate>> staged = TryStages();
    absl::StatusOr<Plan> plan = absl::NotFoundError("no plan yet");
    const bool stage_first =
        staged.ok() &&
        staged->front().seconds < kClearlyFaster * SecondsOf(found_);
    if (stage_first) {
      plan = FinishStages(*staged);
      if (plan.ok() && Fits(*plan) &&
          plan->predicted.step_seconds < kFarFaster * SecondsOf(found_)) {
        return plan;
      }
    }
    if (!may_be_whole) {
      MW_RETURN_IF_ERROR(staged.status());
      if (plan.ok() && Fits(*plan)) return plan;
      return plan.ok() ? StagesDoNotFit(*plan, limit_) : plan.status();
    }
    absl::StatusOr<Plan> whole = Finish(last);
    if (staged.ok() && !stage_first &&
        (!whole.ok() || staged->front().seconds <
                            kWorthALook * whole->predicted.step_seconds)) {
      plan = FinishStages(*staged);
    }
    if (!plan.ok() || !Fits(*plan)) return whole;
    return whole.ok() &&
                   whole->predicted.step_seconds <= plan->predicted.step_seconds
               ? whole
               : plan;
  }

  // Sketches without stages. As few micro-batches as fit; where memory costs
  // time, as many or fewer that compute again; and if that does not help, more.
  absl::Status TryWhole(const std::vector<int64_t>& counts) {
    if (request_.recompute.has_value()) {
      return TryCounts(counts, *request_.recompute, meshes_, kMoreCounts);
    }
    const bool is_short = counts[0] >= kFarTooLarge &&
                          !request_.micro_batches &&
                          (*Cut(1))->model.graph.ops.size() > kManyOps;
    if (is_short) {
      CutTogether(module_, style_,
                  {{1, Recompute::kFull}, {1, Recompute::kLight}}, cuts_);
      TryRecomputing({Recompute::kFull, Recompute::kLight});
    }
    const Found* first = QuickestOf(found_);
    if (first != nullptr && first->cut->count == 1) return absl::OkStatus();
    absl::Status last = TryCounts(counts, Recompute::kNone, meshes_, 0);
    if (refused_) return last;
    if (!is_short) TryRecomputing({Recompute::kLight, Recompute::kFull});
    const Found* best = QuickestOf(found_);
    if (best != nullptr && best->cut->count > 1 &&
        best->cut->recompute == Recompute::kNone) {
      const auto next = std::ranges::upper_bound(counts, best->cut->count);
      last = TryCounts({next, counts.end()}, Recompute::kNone, meshes_, 0);
    }
    return last;
  }

  void TryRecomputing(const std::vector<Recompute>& order) {
    for (const Recompute more : order) {
      const bool is_less = order[0] == Recompute::kFull;
      if (!is_less && !MemoryCosts(kMemoryCosts)) return;
      const absl::StatusOr<std::shared_ptr<const CutStep>> cut = Cut(1, more);
      if (!cut.ok() || (*cut)->flops <= (*Cut(1))->flops) return;
      if (!is_less && !MemoryCosts((*cut)->flops / (*Cut(1))->flops)) return;
      std::vector<int64_t> counts = CountsFor(**cut);
      std::erase_if(counts, [&](int64_t count) {
        return FitsWithLess(found_, more, count);
      });
      std::vector<Mesh> meshes = PromisingMeshes(found_, meshes_);
      while (is_less && meshes.size() > kSoonFound) meshes.pop_back();
      TryCounts(counts, more, meshes, 0).IgnoreError();
      refused_ = false;
    }
  }

  // Whether the best so far takes this much longer than with all memory.
  bool MemoryCosts(double factor) {
    if (found_.empty()) return true;
    const Found& best = *QuickestOf(found_);
    if (best.cut->count == 1 && static_cast<double>(best.plan.peak_bytes) <
                                    kTight * static_cast<double>(limit_)) {
      return false;
    }
    if (!unlimited_seconds_.has_value()) {
      const absl::StatusOr<Found> found = search_.Sketch(
          *Cut(1), {best.task.mesh, kNoLimit, request_.expert}, {});
      unlimited_seconds_ = found.ok() ? found->plan.seconds : 0;
    }
    return best.plan.seconds > factor * *unlimited_seconds_;
  }

  absl::Status TryCounts(const std::vector<int64_t>& counts,
                         Recompute recompute, const std::vector<Mesh>& meshes,
                         int more) {
    absl::Status last = absl::OkStatus();
    const size_t known = found_.size();
    int after_first = 0;
    for (const int64_t count : counts) {
      if (found_.size() > known && ++after_first > more) break;
      const auto cut = Cut(count, recompute);
      if (!cut.ok()) {
        if (last.ok() || request_.micro_batches.has_value()) {
          last = cut.status();
        }
        continue;
      }
      const double before = SecondsOf(found_);
      TryMeshes(*cut, meshes, last);
      refused_ = absl::IsInvalidArgument(last) && found_.empty();
      if (refused_) break;
      // With one micro-batch, or when more of them made it worse, it is done.
      if (found_.size() > known &&
          (count == 1 || !(SecondsOf(found_) < before))) {
        break;
      }
    }
    return last;
  }

  // The best of them, improved and written; `last`: what was wrong with others.
  absl::StatusOr<Plan> Finish(const absl::Status& last) {
    if (found_.empty()) {
      // A batch that cannot be cut further is not the user's mistake.
      const bool fits_nowhere =
          !refused_ && (last.ok() || absl::IsResourceExhausted(last) ||
                        absl::IsDeadlineExceeded(last) ||
                        !request_.micro_batches.has_value());
      return fits_nowhere ? NothingFits() : last;
    }
    KeepPromising(found_);
    if (found_.size() > 1) {
      SideBySide(static_cast<int>(found_.size()),
                 [&](int i) { Improve(found_[i], kSecondWork, kFirstGap); });
      KeepPromising(found_);
    }
    const bool large = found_[0].cut->model.graph.ops.size() > kManyOps;
    Improve(found_[0], kLastWork, large ? kFirstGap : kLastGap);
    RefineMeshes(search_, task_, search_limit_, LeftSeconds(), found_,
                 alternatives_);
    seconds_["search"] = watch_.seconds() - seconds_["model"];
    MW_ASSIGN_OR_RETURN(Plan plan, WriteBest());
    for (int round = 0; round < kMaxRounds; ++round) {
      if (Fits(plan)) break;
      absl::StatusOr<Plan> tighter = Tighten(found_[0], plan);
      if (!tighter.ok()) break;
      plan = *std::move(tighter);
    }
    if (!Fits(plan)) return FinishSmaller();
    return plan;
  }

  // The program takes more than the search counted, whatever it aims at.
  absl::StatusOr<Plan> FinishSmaller() {
    const std::shared_ptr<const CutStep> cut = found_[0].cut;
    MW_ASSIGN_OR_RETURN(const auto whole, Cut(1, cut->recompute));
    std::vector<int64_t> counts = CountsFor(*whole);
    std::erase_if(counts, [&](int64_t count) { return count <= cut->count; });
    found_.clear();
    search_limit_ = limit_;
    const absl::Status last = TryCounts(counts, cut->recompute, meshes_, 0);
    return found_.empty() ? NothingFits() : Finish(last);
  }

  // Sketches of plans with stages.
  absl::StatusOr<std::vector<StageCandidate>> TryStages() {
    // Experts have stages only where they are asked for.
    if (request_.stages.value_or(request_.expert == Expert::kAuto ? 2 : 1) ==
            1 ||
        cluster_.device_count() == 1) {
      return absl::NotFoundError("no stages");
    }
    const Stopwatch watch;
    auto best = BestStages(
        task_, search_, style_, QuickestOf(found_), cuts_,
        [&](Alternative one) { alternatives_.push_back(std::move(one)); });
    seconds_["stages"] += watch.seconds();
    return best;
  }

  // The first of them that fits, or else the last.
  absl::StatusOr<Plan> FinishStages(std::vector<StageCandidate>& staged) {
    const Stopwatch watch;
    absl::StatusOr<Plan> plan = absl::NotFoundError("no stages");
    for (StageCandidate& candidate : staged) {
      plan = meshwright::FinishStages(task_, search_, LeftSeconds(), candidate);
      if (plan.ok() && Fits(*plan)) break;
    }
    seconds_["stages"] += watch.seconds();
    MW_RETURN_IF_ERROR(plan.status());
    return WithAlternatives(*std::move(plan));
  }

  absl::StatusOr<std::shared_ptr<const CutStep>> Cut(
      int64_t count, Recompute recompute = Recompute::kNone) {
    Cuts& cuts = cuts_[recompute];
    std::shared_ptr<const CutStep>& known = cuts[count];
    if (known == nullptr) {
      const Stopwatch watch;
      absl::StatusOr<std::shared_ptr<const CutStep>> cut =
          CutStep::Of(module_, count, recompute, style_);
      seconds_["model"] += watch.seconds();
      if (!cut.ok()) cuts.erase(count);
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
    MW_ASSIGN_OR_RETURN(
        Found tighter,
        search_.Sketch(found.cut,
                       {found.task.mesh, search_limit_, found.expert},
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
    ShareBounds(found_, experts_);
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
    const absl::StatusOr<std::shared_ptr<const CutStep>> cut =
        Cut(1, request_.recompute.value_or(Recompute::kNone));
    if (!cut.ok()) return {1};  // It will be said then.
    batch_ = BatchSize((*cut)->model);
    return CountsFor(**cut);
  }

  std::vector<int64_t> CountsFor(const CutStep& cut) const {
    if (request_.micro_batches.has_value()) return {*request_.micro_batches};
    return CountsToTry(
        cut.model, meshes_,
        request_.leanest_below.has_value() ? INT64_MAX : limit_,
        cut.recompute == Recompute::kNone ? kFewExamples : kManyExamples);
  }

  void TryMeshes(const std::shared_ptr<const CutStep>& cut,
                 const std::vector<Mesh>& meshes, absl::Status& last) {
    size_t next = 0;
    while (next < meshes.size()) {
      if (watch_.seconds() > request_.time_limit_seconds && !found_.empty()) {
        if (notes_.empty()) {
          notes_.push_back("the time limit came before all meshes were tried");
        }
        break;
      }
      // The first alone: what it finds is where the others start.
      const size_t most = like_.empty() ? 1 : kSideBySide;
      std::vector<Mesh> batch;
      for (; next < meshes.size() && batch.size() < most; ++next) {
        const Mesh& mesh = meshes[next];
        const bool suits = cut->count == 1 || request_.micro_batches ||
                           Suits(mesh, batch_ / cut->count);
        if (!suits || IsHopeless(mesh, times_, SecondsOf(found_), cluster_)) {
          continue;
        }
        if (request_.report) {
          request_.report(absl::StrCat(mesh.ToString(), " x", cut->count));
        }
        batch.push_back(mesh);
      }
      std::vector<absl::StatusOr<Found>> found(batch.size());
      SideBySide(static_cast<int>(batch.size()), [&](int i) {
        found[i] = search_.Sketch(
            cut, {batch[i], search_limit_, request_.expert}, like_);
      });
      for (size_t i = 0; i < batch.size(); ++i) {
        Keep(batch[i], *cut, std::move(found[i]), last);
      }
    }
    search_.AddExperts(cut, meshes_, search_limit_, experts_);
  }

  void Keep(const Mesh& mesh, const CutStep& cut, absl::StatusOr<Found> found,
            absl::Status& last) {
    Alternative alternative =
        AlternativeOf(request_, found.ok() ? &*found : nullptr, cut, mesh);
    if (!found.ok()) {
      last = found.status();
      alternative.why_not = std::string(last.message());
    } else {
      alternative.seconds = found->plan.seconds;
      alternative.bound = found->plan.bound_seconds;
      if (like_.empty() || found->plan.seconds <= SecondsOf(found_)) {
        like_ = found->plan.placements;
      }
      times_.push_back({mesh, found->plan.seconds});
      found_.push_back(*std::move(found));
    }
    alternatives_.push_back(std::move(alternative));
  }

  void Improve(Found& found, int64_t work, double wanted_gap) const {
    search_.Improve(found, work, wanted_gap, LeftSeconds());
  }

  double LeftSeconds() const {
    return request_.time_limit_seconds - watch_.seconds();
  }

  // The plan that needs least, if that is little enough; else what would do.
  absl::StatusOr<Plan> NothingFits() {
    if (!request_.forbidden.empty()) {
      MW_ASSIGN_OR_RETURN(const auto cut,
                          Cut(request_.micro_batches.value_or(1)));
      MW_RETURN_IF_ERROR(search_.CheckPossible(cut, meshes_));
    }
    absl::StatusOr<Plan> leanest =
        MakePlan(module_, cluster_, rates_, LeanestOf(request_, INT64_MAX));
    if (leanest.ok() && Fits(*leanest)) return leanest;
    return DoesNotFit(
        FindWhatFits(module_, cluster_, rates_, request_, limit_, leanest),
        meshes_[0].device_count(), limit_);
  }

  absl::StatusOr<Plan> Leanest(const std::vector<int64_t>& counts) {
    absl::Status last;
    Cuts cuts;
    for (const int64_t count : CountsOfLeast(counts)) {
      absl::StatusOr<std::shared_ptr<const CutStep>> cut =
          Cut(count, request_.recompute.value_or(Recompute::kFull));
      if (!cut.ok() && !request_.recompute.has_value()) cut = Cut(count);
      last.Update(cut.status());
      if (cut.ok()) cuts[count] = *std::move(cut);
    }
    return PlanLeanest(task_, search_, meshes_, cuts, last);
  }

  bool Fits(const Plan& p) const { return p.predicted.peak_bytes <= limit_; }

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
  std::map<Recompute, Cuts> cuts_;
  std::optional<double> unlimited_seconds_;  // With one micro-batch.
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

absl::StatusOr<Plan> FindPlan(const Module& module, const Cluster& cluster,
                              const Rates& rates, const PlanRequest& request) {
  return Planner(module, cluster, rates, request).Run();
}

}  // namespace meshwright
