#include "meshwright/planner/planner.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/base/units.h"
#include "meshwright/partition/tensor_pins.h"
#include "meshwright/planner/batch_axis.h"
#include "meshwright/planner/expert_plans.h"
#include "meshwright/planner/find_plan.h"
#include "meshwright/planner/finish_whole.h"
#include "meshwright/planner/island_meshes.h"
#include "meshwright/planner/lean_settings.h"
#include "meshwright/planner/leanest.h"
#include "meshwright/planner/mesh_search.h"
#include "meshwright/planner/meshes_to_try.h"
#include "meshwright/planner/plan_candidates.h"
#include "meshwright/planner/plan_log.h"
#include "meshwright/planner/search_policy.h"
#include "meshwright/planner/short_run.h"
#include "meshwright/planner/stage_plan.h"
#include "meshwright/planner/stage_search.h"
#include "meshwright/planner/stages_that_fit.h"
#include "meshwright/planner/steering.h"
#include "meshwright/planner/summary.h"
#include "meshwright/planner/variants.h"
#include "meshwright/planner/what_fits.h"
#include "meshwright/planner/whole_search.h"
#include "meshwright/planner/write_plan.h"

namespace meshwright {
namespace {

class Planner {
 public:
  Planner(const PlanTask& task, std::vector<Mesh> meshes)
      : task_(task),
        request_(task.request),
        search_(task),
        variants_(task.module, task.context),
        log_{.record = task.request.record},
        whole_(task_, search_, std::move(meshes), variants_, log_) {}

  absl::StatusOr<PlanChoice> Run() {
    MW_ASSIGN_OR_RETURN(Plan plan, task_.mode.leanest_below.has_value()
                                       ? Leanest(*task_.mode.leanest_below)
                                       : Search());
    log_.Enter(kChoose);  // Counts the time of the phase before.
    log_.seconds["total"] = log_.watch.seconds();
    plan.seconds = log_.seconds;
    return PlanChoice{std::move(plan), std::move(log_.finalists)};
  }

 private:
  // Non-pipelined plans are finished first: their coarse estimates may be far
  // from their programs, and no measure for pipelines.
  absl::StatusOr<Plan> Search() {
    const absl::Status last = EnumerateAndSketch();
    const absl::StatusOr<Plan> whole = FinishWithoutStages();
    const absl::StatusOr<std::vector<StageCandidate>> staged =
        SketchStages(whole);
    const absl::StatusOr<Plan> pipelined = FinishStages(staged, whole);
    if (!whole.ok() && !FitsInStages(pipelined)) {
      return NothingFound(whole.status(), pipelined, last);
    }
    return Choose(whole, pipelined);
  }

  // Without stages. Returns the last failure.
  absl::Status EnumerateAndSketch() {
    return MayBeWhole() ? whole_.Try() : absl::OkStatus();
  }

  // Prunes, refines, lowers, chooses and proves (finish_whole.cc): the best of
  // the non-pipelined candidates, or an expert's plan; NotFound if none fits.
  absl::StatusOr<Plan> FinishWithoutStages() {
    if (whole_.found().empty()) return absl::NotFoundError("nothing fits");
    MW_ASSIGN_OR_RETURN(Finished finished,
                        FinishWhole(task_, search_, whole_, log_));
    if (!Fits(finished.chosen.plan)) return absl::NotFoundError("nothing fits");
    if (!MayRepay(task_, finished.chosen.found.variant(),
                  finished.chosen.plan.predicted.step_seconds)) {
      is_enough_ = true;
      log_.notes.push_back(absl::StrCat(
          "experts' plans and pipelines were not tried: over ",
          Counted(*request_.steps, "step"), " of ",
          FormatSeconds(finished.chosen.plan.predicted.step_seconds),
          " they hardly gain what that takes"));
      return WithAlternatives(std::move(finished.chosen.plan));
    }
    return WithAlternatives(UseExperts(task_, search_, whole_, variants_,
                                       std::move(finished), log_));
  }

  // Pipelined candidates, given the result without stages.
  absl::StatusOr<std::vector<StageCandidate>> SketchStages(
      const absl::StatusOr<Plan>& whole) {
    if (request_.stages.value_or(1) > 1 && task_.cluster.device_count() == 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("the cluster's one device cannot be shared by ",
                       *request_.stages, " stages"));
    }
    if (is_enough_) return absl::NotFoundError("a short run");
    // Experts have stages only on request.
    if (request_.stages.value_or(request_.expert == Expert::kAuto ? 2 : 1) ==
            1 ||
        task_.cluster.device_count() == 1 || whole_.IsOutOfTime()) {
      return absl::NotFoundError(
          "the time was over before stages were looked at; give more "
          "(--time-limit)");
    }
    const InPhase in(log_, kStages);
    return BestStages(task_, search_, whole.ok() ? &*whole : nullptr, variants_,
                      [&](Alternative one) { log_.Add(std::move(one)); });
  }

  // Refines, lowers and chooses pipelined candidates (stages_that_fit.cc), if
  // they may be faster than the plan without stages.
  absl::StatusOr<Plan> FinishStages(
      const absl::StatusOr<std::vector<StageCandidate>>& staged,
      const absl::StatusOr<Plan>& whole) {
    MW_RETURN_IF_ERROR(staged.status());
    if (whole.ok() &&
        QuickestSeconds(*staged) >=
            task_.policy.choose.worth_a_look * whole->predicted.step_seconds) {
      return absl::NotFoundError("no plan with stages");
    }
    const InPhase in(log_, kStages);
    std::vector<StageCandidate> left = *staged;
    absl::StatusOr<Plan> plan = FinishBestFirst(
        task_, search_, LeftSeconds(),
        whole.ok() ? whole->predicted.step_seconds
                   : std::numeric_limits<double>::infinity(),
        left,
        [&](const StageCandidate& one, const absl::StatusOr<Plan>& written) {
          Record(one, written);
        });
    if ((plan.ok() || whole.ok()) && !left.empty()) {
      const StageCandidate& best = left.front();
      log_.notes.push_back(absl::StrCat(
          best.stages, " stages on ", best.first().setting().mesh.ToString(),
          " may be as good: estimated at ", FormatSeconds(best.seconds),
          ", not written for want of time"));
    }
    MW_RETURN_IF_ERROR(plan.status());
    return WithAlternatives(*std::move(plan));
  }

  void Record(const StageCandidate& candidate,
              const absl::StatusOr<Plan>& written) {
    if (written.ok()) {
      RecordWritten(task_, *written, log_.alternatives);
      return;
    }
    const PlanCandidate& first = candidate.first();
    Alternative* const one = FindAlternative(
        log_.alternatives, first.setting().mesh, first.setting().micro_batches,
        candidate.ranks(), first.variant().recompute);
    if (one != nullptr) one->why_not = WhyNot(written.status());
  }

  // The faster one; one of them exists and fits.
  Plan Choose(const absl::StatusOr<Plan>& whole,
              const absl::StatusOr<Plan>& pipelined) {
    const InPhase in(log_, kChoose);
    const bool is_whole = !FitsInStages(pipelined) ||
                          (whole.ok() && whole->predicted.step_seconds <=
                                             pipelined->predicted.step_seconds);
    Plan best = is_whole ? *whole : *pipelined;
    // Plans lowered afterwards count, too.
    if (!best.alternatives.empty()) {
      best.alternatives = BestFirst(log_.alternatives);
      best.notes = log_.notes;
    }
    return best;
  }

  // What to do or to say when no plan fits. `last`: the last failure.
  absl::StatusOr<Plan> NothingFound(const absl::Status& whole,
                                    const absl::StatusOr<Plan>& pipelined,
                                    const absl::Status& last) {
    const InPhase in(log_, kWhatFits);
    if (!MayBeWhole()) return OtherStages(pipelined);
    return absl::IsNotFound(whole) ? WithoutSketches(last) : whole;
  }

  // `last`: the last failure.
  absl::StatusOr<Plan> WithoutSketches(const absl::Status& last) {
    // A batch that cannot be split further is not the user's mistake.
    const bool is_short =
        !whole_.found().empty() || last.ok() ||
        (!whole_.refused() &&
         (absl::IsResourceExhausted(last) || absl::IsDeadlineExceeded(last) ||
          !request_.micro_batches));
    return is_short ? NothingFits() : last;
  }

  // Whether stages are requested, and `plan` has none.
  absl::StatusOr<Plan> OtherStages(const absl::StatusOr<Plan>& plan) const {
    const bool is_short = plan.ok() || absl::IsResourceExhausted(plan.status());
    return is_short ? StagesThatFit(task_, LeftSeconds()) : plan.status();
  }

  double LeftSeconds() const {
    return request_.time_limit_seconds - log_.watch.seconds();
  }

  // The leanest plan if it fits; otherwise an error with what would suffice.
  absl::StatusOr<Plan> NothingFits() {
    if (!request_.forbidden.empty() || request_.annotations ||
        !request_.batch_axis.empty()) {
      MW_ASSIGN_OR_RETURN(const auto variant,
                          whole_.Variant(request_.micro_batches.value_or(1)));
      MW_RETURN_IF_ERROR(search_.CheckPossible(variant, whole_.meshes()));
    }
    absl::StatusOr<Plan> leanest = Leanest(INT64_MAX);
    if (leanest.ok() && Fits(*leanest)) return leanest;
    if (!request_.stages.has_value() && request_.expert == Expert::kAuto) {
      absl::StatusOr<Plan> staged = AnyStagesThatFit(
          task_, task_.policy.lean.share_for_stages * LeftSeconds());
      if (staged.ok()) return WithAlternatives(*std::move(staged));
    }
    WhatFits fits = FindWhatFits(task_, leanest);
    fits.no_micro_batches = std::string(whole_.WhyNotSplit().message());
    return DoesNotFit(fits, whole_.meshes()[0].device_count(),
                      task_.memory_bytes);
  }

  // The plan that takes the least memory, if that may be below this.
  absl::StatusOr<Plan> Leanest(int64_t below) {
    PlanTask lean = task_;
    lean.mode.leanest_below = below;
    const MeshSearch search(lean);
    WholeSearch whole(lean, search, whole_.meshes(), variants_, log_);
    absl::Status last;
    std::vector<std::shared_ptr<const StepVariant>> variants;
    for (const int64_t count : CountsOfLeast(whole.Counts(), task_.policy)) {
      absl::StatusOr<std::shared_ptr<const StepVariant>> variant =
          whole.Variant(count, request_.recompute.value_or(Recompute::kFull));
      if (!variant.ok() && !request_.recompute.has_value()) {
        variant = whole.Variant(count);
      }
      last.Update(variant.status());
      if (variant.ok()) variants.push_back(*std::move(variant));
    }
    return PlanLeanest(lean, search, whole.meshes(), variants, last);
  }

  bool MayBeWhole() const { return request_.stages.value_or(1) == 1; }

  bool FitsInStages(const absl::StatusOr<Plan>& pipelined) const {
    return pipelined.ok() && Fits(*pipelined);
  }

  bool Fits(const Plan& plan) const {
    return plan.NeededBytes() <= task_.memory_bytes;
  }

  Plan WithAlternatives(Plan plan) const {
    plan.notes = log_.notes;
    plan.alternatives = BestFirst(log_.alternatives);
    return plan;
  }

  const PlanTask& task_;
  const PlanRequest& request_;
  const MeshSearch search_;
  Variants variants_;
  PlanLog log_;
  WholeSearch whole_;
  bool is_enough_ = false;  // The plan without stages, for so short a run.
};

}  // namespace

absl::StatusOr<PlanChoice> FindPlan(const Module& module,
                                    const Cluster& cluster, const Rates& rates,
                                    const PlanRequest& request,
                                    const SearchMode& mode,
                                    const SearchPolicy& policy) {
  MW_ASSIGN_OR_RETURN(std::vector<Mesh> meshes, MeshesToTry(cluster, request));
  MW_RETURN_IF_ERROR(CheckSteering(request));
  MW_RETURN_IF_ERROR(KeepIslandMeshes(module, cluster, request, meshes));
  MW_RETURN_IF_ERROR(KeepBatchMeshes(module, request, meshes));
  const double usable =
      policy.usable_memory * static_cast<double>(cluster.device.memory_bytes);
  PlanTask task{
      module,
      cluster,
      rates,
      request,
      request.memory_bytes.value_or(static_cast<int64_t>(usable)),
      {.style = FusionStyleFor(cluster.IsCpu()), .row_blocks = mode.row_blocks},
      mode,
      policy};
  if (request.annotations) {
    const Mesh& mesh = meshes[0];
    MW_ASSIGN_OR_RETURN(Annotations given, request.annotations(mesh));
    MW_RETURN_IF_ERROR(CheckPins(module, Flatten(module), mesh, given));
    task.context.pins = MeshPins{mesh, std::move(given)};
  }
  MW_ASSIGN_OR_RETURN(PlanChoice choice,
                      Planner(task, std::move(meshes)).Run());
  if (task.context.pins.has_value() &&
      !task.context.pins->given.sharding_groups.empty()) {
    choice.plan.notes.push_back(
        "sharding groups of the module (shard_alike) are not kept: every "
        "tensor is sharded on its own");
  }
  return choice;
}

}  // namespace meshwright
