#include "meshwright/planner/whole_search.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/side_by_side.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/planner/lean_settings.h"
#include "meshwright/planner/plan_candidates.h"
#include "meshwright/search/memory_points.h"

namespace meshwright {
WholeSearch::WholeSearch(const PlanTask& task, const MeshSearch& search,
                         std::vector<Mesh> meshes, Variants& variants,
                         PlanLog& log)
    : task_(task),
      request_(task.request),
      search_(search),
      meshes_(std::move(meshes)),
      variants_(variants),
      log_(log) {}

absl::Status WholeSearch::Try() {
  const InPhase in(log_, kSketch);
  const std::vector<int64_t> counts = Counts();
  if (request_.recompute.has_value()) {
    return TryCounts(counts, *request_.recompute, meshes_,
                     task_.policy.enumerate.more_counts);
  }
  const bool is_short = counts[0] >= task_.policy.enumerate.far_too_large &&
                        !request_.micro_batches &&
                        task_.EffortFor(**Variant(1)).quick_settings_first;
  if (is_short) {
    variants_.Make({{{1, Recompute::kFull}, {1, Recompute::kSelective}}});
    TryRecomputing({Recompute::kFull, Recompute::kSelective});
  }
  const PlanCandidate* first = QuickestOf(found_);
  if (first != nullptr && first->variant().count == 1) return absl::OkStatus();
  absl::Status last = TryCounts(counts, Recompute::kNone, meshes_, 0);
  if (refused_) return last;
  if (!is_short) TryRecomputing({Recompute::kSelective, Recompute::kFull});
  const PlanCandidate* best = QuickestOf(found_);
  if (best != nullptr && best->variant().count > 1 &&
      best->variant().recompute == Recompute::kNone) {
    const auto next = std::ranges::upper_bound(counts, best->variant().count);
    last = TryCounts({next, counts.end()}, Recompute::kNone, meshes_, 0);
  }
  return last;
}

bool WholeSearch::IsOutOfTime() {
  if (found_.empty() || log_.watch.seconds() <= request_.time_limit_seconds) {
    return false;
  }
  if (log_.notes.empty()) {
    log_.notes.push_back("the time limit came before all meshes were tried");
  }
  return true;
}

absl::Status WholeSearch::TrySmaller(const StepVariant& than) {
  const InPhase in(log_, kSketch);
  const int64_t count = than.count;
  const Recompute recompute = than.recompute;
  MW_ASSIGN_OR_RETURN(const auto whole, Variant(1, recompute));
  std::vector<int64_t> counts = CountsFor(*whole);
  std::erase_if(counts, [&](int64_t more) { return more <= count; });
  found_.clear();
  return TryCounts(counts, recompute, meshes_, 0);
}

absl::Status WholeSearch::WhyNotSplit() {
  for (int64_t count = 2; count <= batch_; ++count) {
    if (batch_ % count == 0) return Variant(count).status();
  }
  return absl::OkStatus();
}

void WholeSearch::TryRecomputing(const std::vector<Recompute>& order) {
  for (const Recompute more : order) {
    const bool is_less = order[0] == Recompute::kFull;
    if (IsOutOfTime() || (!is_less && !MemoryCosts())) return;
    const absl::StatusOr<std::shared_ptr<const StepVariant>> variant =
        Variant(1, more);
    if (!variant.ok()) continue;
    std::vector<int64_t> counts = CountsFor(**variant);
    std::erase_if(counts, [&](int64_t count) {
      return FitsWithFewer(found_, more, count);
    });
    std::vector<Mesh> meshes = PromisingMeshes(found_, meshes_, task_.policy);
    while (is_less && meshes.size() > task_.policy.enumerate.soon_found)
      meshes.pop_back();
    TryCounts(counts, more, meshes, 0).IgnoreError();
    refused_ = false;
  }
}

// Whether the best candidate so far is much slower than with unlimited memory.
bool WholeSearch::MemoryCosts() {
  if (found_.empty()) return true;
  const PlanCandidate& best = *QuickestOf(found_);
  if (best.variant().count == 1 &&
      static_cast<double>(best.plan().peak_bytes) <
          task_.policy.enumerate.tight *
              static_cast<double>(task_.memory_bytes)) {
    return false;
  }
  if (!unlimited_seconds_.has_value()) {
    const absl::StatusOr<PlanCandidate> found = search_.Sketch(
        *Variant(1),
        SettingOf(**Variant(1), best.setting().mesh, request_.expert), kNoLimit,
        best.plan().axis_places);
    unlimited_seconds_ = found.ok() ? found->seconds() : 0;
  }
  return best.seconds() >
         task_.policy.enumerate.memory_costs * *unlimited_seconds_;
}

absl::Status WholeSearch::TryCounts(const std::vector<int64_t>& counts,
                                    Recompute recompute,
                                    const std::vector<Mesh>& meshes, int more) {
  absl::Status last = absl::OkStatus();
  const size_t known = found_.size();
  int after_first = 0;
  for (const int64_t count : counts) {
    if (found_.size() > known && ++after_first > more) break;
    if (IsOutOfTime()) break;
    const auto variant = Variant(count, recompute);
    if (!variant.ok()) {
      if (last.ok() || request_.micro_batches.has_value()) {
        last = variant.status();
      }
      continue;
    }
    const double before = SecondsOf(found_);
    TryMeshes(*variant, meshes, last);
    refused_ = absl::IsInvalidArgument(last) && found_.empty();
    if (refused_) break;
    // Ends with one micro-batch, or when more of them were slower.
    if (found_.size() > known &&
        (count == 1 || !(SecondsOf(found_) < before))) {
      break;
    }
  }
  return last;
}

absl::StatusOr<std::shared_ptr<const StepVariant>> WholeSearch::Variant(
    int64_t count, Recompute recompute) {
  const InPhase in(log_, kEnumerate);
  return variants_.Get(count, recompute);
}

std::vector<int64_t> WholeSearch::Counts() {
  if (request_.micro_batches.has_value()) return {*request_.micro_batches};
  const absl::StatusOr<std::shared_ptr<const StepVariant>> variant =
      Variant(1, request_.recompute.value_or(Recompute::kNone));
  if (!variant.ok()) return {1};  // The error is reported later.
  batch_ = BatchSize((*variant)->model);
  return CountsFor(**variant);
}

std::vector<int64_t> WholeSearch::CountsFor(const StepVariant& variant) const {
  if (request_.micro_batches.has_value()) return {*request_.micro_batches};
  return CountsToTry(
      variant.model, meshes_,
      task_.mode.leanest_below.has_value() ? INT64_MAX : task_.memory_bytes,
      variant.recompute == Recompute::kNone
          ? task_.policy.enumerate.few_examples
          : task_.policy.enumerate.many_examples);
}

void WholeSearch::TryMeshes(const std::shared_ptr<const StepVariant>& variant,
                            const std::vector<Mesh>& meshes,
                            absl::Status& last) {
  size_t next = 0;
  while (next < meshes.size()) {
    if (IsOutOfTime()) break;
    // Only the first one alone: its result is the warm start of the others.
    const size_t most =
        warm_start_.empty() ? 1 : task_.policy.enumerate.side_by_side;
    std::vector<Mesh> batch;
    for (; next < meshes.size() && batch.size() < most; ++next) {
      const Mesh& mesh = meshes[next];
      const bool suits = variant->count == 1 || request_.micro_batches ||
                         Suits(mesh, batch_ / variant->count);
      if (!suits || IsHopeless(mesh, times_, task_.policy)) continue;
      if (request_.report) {
        request_.report(absl::StrCat(mesh.ToString(), " x", variant->count));
      }
      batch.push_back(mesh);
    }
    std::vector<absl::StatusOr<PlanCandidate>> found(batch.size());
    SideBySide(static_cast<int>(batch.size()),
               [&](int i) { found[i] = SketchOn(variant, batch[i]); });
    for (size_t i = 0; i < batch.size(); ++i) {
      Keep(batch[i], *variant, std::move(found[i]), last);
    }
  }
}

// Starts from data parallelism, which is found quickly and near the best; from
// nothing, or from a plan for another mesh, the search may not get there. Of
// two ways to price all-reduces, the one that leads to the quicker program.
absl::StatusOr<PlanCandidate> WholeSearch::SketchOn(
    const std::shared_ptr<const StepVariant>& variant, const Mesh& mesh) const {
  std::vector<AxisPlaces> warm_start = warm_start_;
  if (request_.expert == Expert::kAuto) {
    absl::StatusOr<PlanCandidate> start = search_.Sketch(
        variant, SettingOf(*variant, mesh, Expert::kDp), kNoLimit, {});
    if (start.ok()) warm_start = std::move(start->plan().axis_places);
  }
  Setting setting = SettingOf(*variant, mesh, request_.expert);
  const auto sketched = [&](bool joint_reductions) {
    setting.joint_reductions = joint_reductions;
    return search_.Sketch(variant, setting, task_.memory_bytes, warm_start);
  };
  const bool may_share =
      request_.expert != Expert::kVolume && task_.rates.further_array.value < 1;
  if (!may_share) return sketched(false);
  absl::StatusOr<PlanCandidate> joint = sketched(true);
  if (!task_.EffortFor(*variant).latencies_apart) return joint;
  absl::StatusOr<PlanCandidate> apart = sketched(false);
  // Where they share nothing, the sums are equal and apart has better bounds.
  const auto seconds = [](const PlanCandidate& one) {
    return std::make_pair(one.seconds(), one.plan().seconds);
  };
  const bool is_better =
      apart.ok() && (!joint.ok() || seconds(*apart) <= seconds(*joint));
  return is_better ? std::move(apart) : std::move(joint);
}

void WholeSearch::Keep(const Mesh& mesh, const StepVariant& variant,
                       absl::StatusOr<PlanCandidate> found,
                       absl::Status& last) {
  Alternative alternative =
      AlternativeOf(request_, found.ok() ? &*found : nullptr, variant, mesh);
  if (!found.ok()) {
    last = found.status();
    alternative.why_not = WhyNot(last);
  } else {
    alternative.seconds = found->seconds();
    alternative.bound = (1 - found->gap()) * found->seconds();
    if (warm_start_.empty() || found->seconds() <= SecondsOf(found_)) {
      warm_start_ = found->plan().axis_places;
    }
    times_.push_back({found->setting(), found->seconds()});
    if (found_.empty()) effort_ = &task_.EffortFor(variant);
    found_.push_back(*std::move(found));
  }
  log_.Add(std::move(alternative));
}

}  // namespace meshwright
