#include "meshwright/planner/stage_search.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/side_by_side.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/cost/part_rates.h"
#include "meshwright/planner/island_meshes.h"
#include "meshwright/planner/meshes_to_try.h"
#include "meshwright/planner/write_plan.h"

namespace meshwright {
namespace {

// The bubble that each further stage adds, relative to the work of a
// micro-batch on a stage.
double BubbleOfStage(const PlanTask& task, Recompute recompute) {
  const ScheduleKind kind = task.request.schedule.value_or(ScheduleKind::kAuto);
  if (kind != ScheduleKind::kAuto && kind != ScheduleKind::kZeroBubble) {
    return 1;
  }
  return recompute == Recompute::kNone
             ? task.policy.stages.bubble_of_stage
             : task.policy.stages.bubble_with_recompute;
}

// How many of `stages` get twice as many devices as the others, so that none is
// left over; 0 if no number does.
int32_t DoubledOf(int64_t devices, int32_t stages) {
  for (int32_t doubled = 1; doubled < stages; ++doubled) {
    if (devices % (stages + doubled) == 0) return doubled;
  }
  return 0;
}

double Apart(double a, double b) { return std::abs(std::log(a / b)); }

}  // namespace

StageSearch::StageSearch(const PlanTask& task, const MeshSearch& search,
                         std::shared_ptr<const StepVariant> whole,
                         Variants& variants, Note note)
    : task_(task),
      search_(search),
      whole_variant_(std::move(whole)),
      recompute_(whole_variant_->recompute),
      variants_(variants),
      note_(std::move(note)),
      whole_(whole_variant_->model),
      effort_(task.EffortFor(*whole_variant_)),
      batch_(BatchSize(whole_)),
      need_(LeastMemory(whole_)),
      estimator_(task, *whole_variant_) {}

std::vector<int32_t> StageSearch::StageCounts() const {
  const PlanRequest& request = task_.request;
  const int64_t devices = task_.cluster.device_count();
  if (request.stages.has_value()) {
    return {DefaultRanks(request.schedule.value_or(ScheduleKind::kAuto),
                         *request.stages)};
  }
  std::vector<int32_t> counts;
  for (int64_t stages = 2;
       stages <= std::min(task_.policy.stages.most, devices); ++stages) {
    if (devices % stages != 0) continue;
    if (request.mesh.has_value() &&
        request.mesh->device_count() * stages > devices) {
      continue;
    }
    counts.push_back(static_cast<int32_t>(stages));
  }
  std::stable_sort(counts.begin(), counts.end(), [&](int32_t a, int32_t b) {
    return Apart(a, task_.policy.stages.usual) <
           Apart(b, task_.policy.stages.usual);
  });
  return counts;
}

std::vector<Mesh> StageSearch::MeshesOf(int64_t devices) const {
  if (task_.request.mesh.has_value()) return {*task_.request.mesh};
  std::vector<Mesh> meshes = IslandMeshesOfStage(
      task_.module, devices,
      MeshesOfStage(task_.cluster, devices, task_.request.expert));
  const size_t most = effort_.stage_meshes;
  if (meshes.size() > most) {
    meshes.erase(meshes.begin() + static_cast<int64_t>(most), meshes.end());
  }
  return meshes;
}

// A count that was modelled already (Variants::CountsMade), or the fewest that
// keep the bubble small and fit.
int64_t StageSearch::CountFor(int32_t stages,
                              const std::vector<Mesh>& meshes) const {
  if (task_.request.micro_batches.has_value()) {
    return *task_.request.micro_batches;
  }
  // On the devices of a stage: as many micro-batches in flight as there are
  // stages, each with such a share of residuals.
  const double room = (static_cast<double>(task_.MeanMemoryOf(stages)) *
                           static_cast<double>(task_.cluster.device_count()) -
                       need_.state) /
                      stages;
  const auto fits = [&](int64_t count, double filled) {
    return count <= task_.policy.stages.most_micro_batches * stages &&
           batch_ % count == 0 &&
           need_.rest / static_cast<double>(count) <= filled * room;
  };
  const auto divides = [&](int64_t count) {
    return std::ranges::any_of(meshes, [&](const Mesh& mesh) {
      return std::ranges::any_of(mesh.axes(), [&](const MeshAxis& axis) {
        return batch_ / count % axis.size == 0;
      });
    });
  };
  const int64_t fewest =
      std::max<int64_t>(2, task_.policy.stages.fewest_micro_batches * stages);
  for (const int64_t count : variants_.CountsMade(recompute_)) {
    if (count >= fewest && fits(count, task_.policy.stages.filled) &&
        divides(count))
      return count;
  }
  for (int64_t count = fewest; count <= batch_; ++count) {
    if (fits(count, task_.policy.stages.filled) && divides(count)) return count;
  }
  // With few examples or little memory: as many micro-batches as possible, if
  // necessary without splitting any of them over devices.
  for (int64_t count = batch_; count >= 2; --count) {
    if (fits(count, 1) && divides(count)) return count;
  }
  for (int64_t count = fewest; count <= batch_; ++count) {
    if (fits(count, task_.policy.stages.filled)) return count;
  }
  return 0;
}

// False for counts beyond one that was worse than the best.
bool StageSearch::IsWorthIt(int32_t stages) const {
  if (!best_.ok()) return true;
  return std::ranges::none_of(seconds_, [&](const auto& tried) {
    const auto [other, seconds] = tried;
    const bool is_between = best_->ranks() < stages
                                ? best_->ranks() < other && other < stages
                                : stages < other && other < best_->ranks();
    return is_between && seconds > task_.policy.behind * best_->seconds;
  });
}

StageSearch::Trial StageSearch::TrialOn(const std::vector<Mesh>& meshes,
                                        int64_t count,
                                        StageSetting stages) const {
  Trial trial;
  for (const Mesh& mesh : meshes) {
    stages.is_doubled = !trial.settings.empty();
    trial.settings.push_back({.mesh = mesh,
                              .micro_batches = count,
                              .recompute = recompute_,
                              .stages = stages,
                              .schedule = task_.request.schedule,
                              .expert = task_.request.expert});
  }
  return trial;
}

std::vector<StageSearch::Trial> StageSearch::TrialsOf(int32_t ranks) {
  const int64_t devices = task_.cluster.device_count();
  StageSetting stages{.count = task_.request.stages.value_or(ranks),
                      .ranks = ranks};
  if (!task_.request.mesh.has_value() && devices % ranks != 0) {
    stages.doubled = DoubledOf(devices, ranks);
  }
  const int64_t share = devices / stages.parts();
  const std::vector<Mesh> meshes = MeshesOf(share);
  std::vector<Trial> trials;
  if (meshes.empty()) {
    if (!best_.ok()) {
      best_ = NoIslandMeshOfStage(task_.module, task_.cluster, stages.parts());
    }
    return trials;
  }
  const int64_t count = CountFor(ranks, meshes);
  if (count < 2) return trials;
  if (stages.doubled == 0) {
    for (const Mesh& mesh : meshes) {
      trials.push_back(TrialOn({mesh}, count, stages));
    }
    return trials;
  }
  const std::vector<Mesh> larger = MeshesOf(2 * share);
  for (size_t i = 0; i < std::min(meshes.size(), larger.size()); ++i) {
    trials.push_back(TrialOn({meshes[i], larger[i]}, count, stages));
  }
  return trials;
}

// Pins are on unsplit loops.
int32_t StageSearch::PiecesFor(const Trial& trial) const {
  if (task_.request.annotations) return 1;
  return trial.stages().count + trial.stages().doubled;
}

void StageSearch::MakeVariantsOf(std::vector<Trial>& trials) {
  std::set<std::pair<int64_t, Recompute>> wanted;
  for (const Trial& trial : trials) {
    wanted.insert({trial.setting().micro_batches, recompute_});
  }
  variants_.Make(std::vector(wanted.begin(), wanted.end()));
  for (const auto& [count, recompute] : wanted) {
    const absl::Status status = variants_.Get(count, recompute).status();
    if (status.ok()) continue;
    if (!best_.ok()) best_ = status;
    std::erase_if(trials, [&](const Trial& trial) {
      return trial.setting().micro_batches == count;
    });
  }
}

void StageSearch::Run(std::vector<Trial> trials) {
  for (const Trial& trial : trials) {
    if (task_.request.report) {
      task_.request.report(absl::StrCat(trial.stages().ranks, " stages of ",
                                        trial.setting().mesh.ToString(), " x",
                                        trial.setting().micro_batches));
    }
  }
  MakeVariantsOf(trials);
  std::vector<std::pair<Trial*, size_t>> all;
  for (Trial& trial : trials) {
    trial.found.resize(trial.settings.size());
    for (size_t i = 0; i < trial.settings.size(); ++i)
      all.push_back({&trial, i});
  }
  SideBySide(static_cast<int>(all.size()), [&](int i) {
    const auto& [trial, at] = all[i];
    const Setting& setting = trial->settings[at];
    trial->found[at] =
        search_.Sketch(*variants_.Get(setting.micro_batches, recompute_),
                       setting, task_.MeanMemoryOf(setting.stages.ranks), {});
  });
  for (Trial& trial : trials) Keep(trial);
}

absl::StatusOr<double> StageSearch::Estimate(const Trial& trial) {
  std::vector<const PlanCandidate*> ranks;
  for (const absl::StatusOr<PlanCandidate>& found : trial.found) {
    MW_RETURN_IF_ERROR(found.status());
    ranks.push_back(&*found);
  }
  return estimator_.SecondsOf(ranks, PiecesFor(trial));
}

void StageSearch::Keep(Trial& trial) {
  const StageSetting& stages = trial.stages();
  const absl::StatusOr<double> estimate = Estimate(trial);
  const absl::Status& status = estimate.status();
  // Stages on faster devices get more of the work.
  const double speed =
      stages.doubled == 0 ? MeanSpeedOfParts(task_.cluster, stages.ranks) : 1;
  const double seconds = estimate.value_or(0) / speed;
  Alternative alternative = AlternativeOf(
      task_.request, trial.found[0].ok() ? &*trial.found[0] : nullptr,
      **variants_.Get(trial.setting().micro_batches, recompute_),
      trial.setting().mesh);
  alternative.stages = stages.ranks;
  alternative.seconds = seconds;
  alternative.why_not = WhyNot(status);
  note_(std::move(alternative));
  if (!status.ok()) {
    if (!best_.ok()) best_ = status;
    return;
  }
  const auto [entry, is_new] = seconds_.try_emplace(stages.ranks, seconds);
  entry->second = std::min(entry->second, seconds);
  StageCandidate candidate{
      .layouts = {*std::move(trial.found[0])},
      .layout_of_rank = std::vector<int32_t>(stages.ranks, 0),
      .stages = stages.count,
      .loop_pieces = PiecesFor(trial),
      .seconds = seconds};
  if (stages.doubled > 0) {
    candidate.layouts.push_back(*std::move(trial.found[1]));
    std::fill_n(candidate.layout_of_rank.begin(), stages.doubled, 1);
  }
  const auto [kept, is_first] = kept_.try_emplace(stages.ranks, candidate);
  if (!is_first && seconds < kept->second.seconds) kept->second = candidate;
  const bool is_best = !best_.ok() || seconds < best_->seconds;
  if (is_best) {
    absl::StatusOr<StageCandidate> before = std::move(candidate);
    std::swap(best_, before);
    if (!before.ok()) return;
    candidate = *std::move(before);
  }
  if (candidate.layouts.size() == 1) {
    others_.push_back(std::move(candidate.layouts[0]));
  }
}

// Candidates with as many stages, micro-batches and devices as the best.
void StageSearch::AddRivals() {
  if (!best_.ok() || best_->layouts.size() > 1 || !effort_.vary_stages) {
    return;
  }
  for (PlanCandidate& other : others_) {
    if (&other.variant() == &best_->first().variant() &&
        other.setting().stages.meshes() ==
            best_->first().setting().stages.meshes()) {
      best_->rivals.push_back(std::move(other));
    }
  }
}

// Stage counts near the best that do not divide the devices.
void StageSearch::TryUnequal() {
  const int64_t devices = task_.cluster.device_count();
  if (task_.request.stages.has_value() || task_.request.mesh.has_value()) {
    return;
  }
  const int32_t best = best_->ranks();
  std::vector<int32_t> counts;
  for (int32_t stages = best / 2 + 1; stages < 2 * best; ++stages) {
    if (devices % stages != 0 && DoubledOf(devices, stages) > 0) {
      counts.push_back(stages);
    }
  }
  std::stable_sort(counts.begin(), counts.end(), [&](int32_t a, int32_t b) {
    return Apart(a, best) < Apart(b, best);
  });
  for (size_t i = 0; i < counts.size() && i < effort_.unequal_stages; ++i) {
    Run(TrialsOf(counts[i]));
  }
}

double StageSearch::BubblesOf(int32_t stages, int64_t count) const {
  return BubbleOfStage(task_, recompute_) * (stages - 1) /
         static_cast<double>(count);
}

// More micro-batches with the best stages and mesh, as long as that helps: the
// bubble shrinks, but kernels get smaller.
void StageSearch::TryMoreMicroBatches() {
  if (task_.request.micro_batches.has_value()) return;
  while (best_.ok()) {
    const int32_t stages = best_->ranks();
    const int64_t count = 2 * best_->first().variant().count;
    if (BubblesOf(stages, count / 2) < task_.policy.stages.few_bubbles ||
        batch_ % count != 0 ||
        count > task_.policy.stages.most_micro_batches * stages) {
      return;
    }
    const double before = best_->seconds;
    std::vector<Mesh> meshes;
    for (const PlanCandidate& layout : best_->layouts) {
      meshes.push_back(layout.setting().mesh);
    }
    Run({TrialOn(meshes, count, best_->first().setting().stages)});
    if (!(best_->seconds < before)) return;
  }
}

absl::Status StageSearch::Check() const {
  const PlanRequest& request = task_.request;
  if (!request.stages.has_value()) return absl::OkStatus();
  const int64_t devices = task_.cluster.device_count();
  const int64_t ranks = StageCounts()[0];
  if (request.micro_batches == 1 && *request.stages > 1) {
    return absl::InvalidArgumentError(
        "stages work on micro-batches side by side: --micro-batches 1 leaves "
        "all but one idle; give 2 or more, or leave it out");
  }
  if (request.mesh.has_value()) {
    const int64_t needed = ranks * request.mesh->device_count();
    if (needed <= devices) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        *request.stages, " stages on meshes ", request.mesh->ToString(),
        " need ", needed, " devices, the cluster has ", devices));
  }
  if (devices % ranks == 0) return absl::OkStatus();
  if (request.stages == ranks && DoubledOf(devices, StageCounts()[0]) > 0) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "the cluster's ", devices, " devices cannot be shared by ", ranks,
      request.stages == ranks
          ? " stages, not even with twice as many for some; give --mesh for "
            "one, or let two share a rank (--schedule interleaved)"
          : " ranks; give --mesh for one"));
}

absl::StatusOr<std::vector<StageCandidate>> StageSearch::Best(
    double whole_seconds, const std::vector<int32_t>& only) {
  MW_RETURN_IF_ERROR(Check());
  estimator_.SetMostSeconds(task_.policy.choose.worth_a_look * whole_seconds);
  const auto is_far_behind = [&] {
    return best_.ok() &&
           best_->seconds > effort_.stages_far_behind * whole_seconds;
  };
  std::vector<Trial> next;
  for (const int32_t stages : StageCounts()) {
    if (!only.empty() && !std::ranges::count(only, stages)) continue;
    if (!IsWorthIt(stages)) continue;
    for (Trial& trial : TrialsOf(stages)) next.push_back(std::move(trial));
    if (next.size() < task_.policy.stages.together) continue;
    Run(std::exchange(next, {}));
    if (is_far_behind()) break;
  }
  Run(std::move(next));
  if (best_.ok() && best_->seconds < task_.policy.behind * whole_seconds) {
    TryUnequal();
  }
  if (!is_far_behind()) TryMoreMicroBatches();
  AddRivals();
  if (absl::IsNotFound(best_.status())) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "stages need micro-batches, and no number of them suits the ", batch_,
        " examples of a step and the memory of the devices"));
  }
  MW_RETURN_IF_ERROR(best_.status());
  std::vector<StageCandidate> candidates;
  kept_.erase(best_->ranks());
  candidates.push_back(*std::move(best_));
  for (auto& [stages, one] : kept_) candidates.push_back(std::move(one));
  return candidates;
}

namespace {

// A stage holds a share of the layers and their state, so a pipeline may need
// less rematerialisation than the best plan without stages, but hardly more.
// The policy of that plan is first.
std::vector<Recompute> RecomputesToTry(const PlanRequest& request,
                                       const Plan* without) {
  if (request.recompute.has_value()) return {*request.recompute};
  std::vector<Recompute> policies = {Recompute::kNone, Recompute::kSelective,
                                     Recompute::kFull};
  if (without != nullptr) {
    while (policies.back() != without->recompute) policies.pop_back();
    std::ranges::reverse(policies);
  }
  return policies;
}

// The numbers of ranks of the best candidates, which are not sorted.
std::vector<int32_t> BestCounts(const std::vector<StageCandidate>& candidates,
                                const SearchPolicy& policy) {
  std::vector<std::pair<double, int32_t>> sorted;
  for (const StageCandidate& one : candidates) {
    sorted.push_back({one.seconds, one.ranks()});
  }
  std::ranges::sort(sorted);
  std::vector<int32_t> counts;
  for (const auto& [seconds, ranks] : sorted) {
    if (counts.size() == policy.stages.of_other_policies) break;
    counts.push_back(ranks);
  }
  return counts;
}

}  // namespace

absl::StatusOr<std::vector<StageCandidate>> BestStages(
    const PlanTask& task, const MeshSearch& search, const Plan* without,
    Variants& variants, const StageSearch::Note& note) {
  const double without_seconds = without != nullptr
                                     ? without->predicted.step_seconds
                                     : std::numeric_limits<double>::max();
  std::vector<StageCandidate> candidates;
  absl::Status first_error;
  std::vector<int32_t> only;
  for (const Recompute recompute : RecomputesToTry(task.request, without)) {
    Variants::Made whole = variants.Get(1, recompute);
    first_error.Update(whole.status());
    if (!whole.ok()) continue;
    absl::StatusOr<std::vector<StageCandidate>> best =
        StageSearch(task, search, *std::move(whole), variants, note)
            .Best(without_seconds, only);
    first_error.Update(best.status());
    if (!best.ok()) continue;
    if (without != nullptr && only.empty()) {
      only = BestCounts(*best, task.policy);
      const double least =
          task.policy.stages.without_recompute * QuickestSeconds(*best);
      if (least > task.policy.choose.worth_a_look * without_seconds) {
        return best;
      }
    }
    std::ranges::move(*best, std::back_inserter(candidates));
  }
  if (candidates.empty()) return first_error;
  return candidates;
}

}  // namespace meshwright
