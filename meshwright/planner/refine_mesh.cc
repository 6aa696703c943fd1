#include "meshwright/planner/refine_mesh.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "meshwright/base/side_by_side.h"
#include "meshwright/planner/plan_candidates.h"
#include "meshwright/planner/search_policy.h"

namespace meshwright {
namespace {

// Products of two factors above 1.
std::vector<int64_t> Divisors(int64_t size) {
  std::vector<int64_t> divisors;
  for (int64_t factor = 2; factor * 2 <= size; ++factor) {
    if (size % factor == 0) divisors.push_back(factor);
  }
  return divisors;
}

Mesh WithSplit(const Mesh& mesh, int32_t axis, int64_t major) {
  static constexpr const char* kNames[] = {"x", "y", "z"};
  std::vector<int64_t> sizes;
  for (int32_t i = 0; i < std::ssize(mesh.axes()); ++i) {
    const int64_t size = mesh.axes()[i].size;
    if (i == axis) sizes.push_back(major);
    sizes.push_back(i == axis ? size / major : size);
  }
  std::vector<MeshAxis> axes;
  for (size_t i = 0; i < sizes.size(); ++i) {
    axes.push_back({kNames[i], sizes[i]});
  }
  return *Mesh::Create(std::move(axes));
}

// Whether the prime sub-axes are the same, so that shardings mean the same on
// both.
bool HaveSameParts(const Mesh& a, const Mesh& b) {
  return std::ranges::equal(a.sub_axes(), b.sub_axes(), {}, &SubAxis::size,
                            &SubAxis::size);
}

// Axes that the user names, and those of experts, are not changed.
bool MayRefine(const PlanRequest& request) {
  return !request.mesh.has_value() && !request.annotations &&
         (request.expert == Expert::kAuto || request.expert == Expert::kVolume);
}

struct Trial {
  size_t from = 0;  // The plan to start from.
  Setting setting;
  int32_t axis = 0;  // As in SplitMesh.
  absl::StatusOr<PlanCandidate> found = absl::UnknownError("not tried");
};

std::vector<Trial> TrialsOf(const PlanTask& task,
                            const std::vector<PlanCandidate>& found) {
  std::vector<Trial> trials;
  const PlanCandidate* best = nullptr;
  for (const PlanCandidate& one : found) {
    if (one.setting().mesh.axes().size() + 1 != task.policy.refine.most_axes)
      continue;
    if (best == nullptr || one.plan().seconds < best->plan().seconds)
      best = &one;
  }
  for (size_t i = 0; i < found.size(); ++i) {
    const PlanCandidate& one = found[i];
    if (one.setting().mesh.axes().size() + 1 != task.policy.refine.most_axes)
      continue;
    const bool is_behind =
        one.seconds() > task.policy.behind * SecondsOf(found);
    const SearchEffort& effort = task.EffortFor(one.variant());
    size_t tried = 0;
    // The first axis is the batch's where the user asked for one.
    for (const SplitMesh& split :
         SplitsOf(one.setting().mesh, task.cluster, task.policy,
                  task.request.batch_axis.empty() ? 0 : 1)) {
      const bool is_small =
          IsSmall(one.variant().model, split.mesh, task.policy);
      if (tried == (is_small ? effort.many_splits : effort.few_splits)) break;
      if (!is_small && (&one != best || is_behind)) break;
      // A mesh may be derived from several plans; the first is the best.
      Setting setting =
          SettingOf(one.variant(), split.mesh, task.request.expert);
      setting.joint_reductions = one.setting().joint_reductions;
      const bool is_known = std::ranges::any_of(
          trials, [&](const Trial& of) { return of.setting == setting; });
      if (is_known) continue;
      trials.push_back({i, setting, split.axis});
      ++tried;
    }
  }
  return trials;
}

// The axis places in which tensors are sharded over both new axes as they
// were over the one.
std::vector<AxisPlaces> Widened(const std::vector<AxisPlaces>& places,
                                int32_t axis) {
  std::vector<AxisPlaces> widened = places;
  for (AxisPlaces& one : widened) {
    const int32_t place = one[axis];
    one.insert(one.begin() + axis, place);
  }
  return widened;
}

}  // namespace

std::vector<SplitMesh> SplitsOf(const Mesh& mesh, const Cluster& cluster,
                                const SearchPolicy& policy, int32_t first) {
  std::vector<SplitMesh> splits;
  if (!mesh.device_ids().empty() ||
      mesh.axes().size() >= policy.refine.most_axes) {
    return splits;
  }
  const auto crosses = [&](const SplitMesh& split) {
    // The number of devices per step along the major new axis.
    int64_t inner = 1;
    const std::vector<MeshAxis>& axes = split.mesh.axes();
    for (size_t i = split.axis + 1; i < axes.size(); ++i) inner *= axes[i].size;
    return std::ranges::any_of(cluster.levels, [&](const LinkLevel& level) {
      return level.devices == inner;
    });
  };
  const auto uneven = [](const SplitMesh& split) {
    const std::vector<MeshAxis>& axes = split.mesh.axes();
    return std::abs(std::log(static_cast<double>(axes[split.axis].size) /
                             static_cast<double>(axes[split.axis + 1].size)));
  };
  for (int32_t axis = first; axis < std::ssize(mesh.axes()); ++axis) {
    for (const int64_t major : Divisors(mesh.axes()[axis].size)) {
      splits.push_back({WithSplit(mesh, axis, major), axis});
    }
  }
  std::ranges::stable_sort(splits, {}, [&](const SplitMesh& split) {
    return std::make_pair(!crosses(split), uneven(split));
  });
  return splits;
}

std::vector<PlanCandidate> RefinedMeshes(
    const MeshSearch& search, const PlanTask& task, int64_t limit,
    double seconds_left, const std::vector<PlanCandidate>& found,
    std::vector<Alternative>& alternatives) {
  if (!MayRefine(task.request) || seconds_left <= 0) return {};
  std::vector<Trial> trials = TrialsOf(task, found);
  SideBySide(static_cast<int>(trials.size()), [&](int i) {
    Trial& trial = trials[i];
    const MeshPlan& plan = found[trial.from].plan();
    MeshSearch::Start start{.places = Widened(plan.axis_places, trial.axis),
                            .seconds = plan.seconds,
                            .axis = trial.axis};
    if (HaveSameParts(trial.setting.mesh, found[trial.from].setting().mesh)) {
      start.shared = plan.shared;
    }
    trial.found = search.SketchFrom(found[trial.from].shared_variant(),
                                    trial.setting, limit, start);
  });
  // For each plan, the best mesh derived from it.
  std::map<size_t, Trial*> best;
  for (Trial& trial : trials) {
    const PlanCandidate* const one = trial.found.ok() ? &*trial.found : nullptr;
    alternatives.push_back(AlternativeOf(
        task.request, one, found[trial.from].variant(), trial.setting.mesh));
    if (one == nullptr) {
      alternatives.back().why_not = WhyNot(trial.found.status());
      continue;
    }
    alternatives.back().seconds = one->seconds();
    Trial*& known = best[trial.from];
    if (known == nullptr ||
        one->plan().seconds < known->found->plan().seconds) {
      known = &trial;
    }
  }
  double least = SecondsOf(found);
  std::vector<PlanCandidate> taken;
  for (auto& [from, trial] : best) {
    PlanCandidate& refined = *trial->found;
    const double gain =
        IsSmall(refined.variant().model, refined.setting().mesh, task.policy)
            ? task.policy.refine.noticeable
            : task.policy.refine.worth_the_bound;
    if (refined.plan().seconds >= (1 - gain) * found[from].plan().seconds) {
      continue;
    }
    if (refined.plan().seconds < least) {
      refined = search.Improved(refined, task.policy.solve.second_work,
                                task.policy.solve.first_gap, seconds_left);
      least = refined.plan().seconds;
    }
    taken.push_back(std::move(refined));
  }
  return taken;
}

}  // namespace meshwright
