#include "meshwright/planner/plan_candidates.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

namespace meshwright {
namespace {

double Seconds(const PlanCandidate& found) { return found.seconds(); }

bool IsProven(const PlanCandidate& found, double best,
              const SearchPolicy& policy) {
  return found.gap() <= policy.prune.proven_gap &&
         Seconds(found) <= policy.prune.about_as_good * best;
}

// Candidates of different rematerialisation policies differ in how far their
// estimates are from their programs.
bool RecomputesOtherwise(const PlanCandidate& one,
                         const std::vector<PlanCandidate>& than,
                         const SearchPolicy& policy) {
  return Seconds(one) <= policy.prune.near * Seconds(than[0]) &&
         std::ranges::none_of(than, [&](const PlanCandidate& other) {
           return other.variant().recompute == one.variant().recompute;
         });
}

}  // namespace

size_t IndexOfQuickest(std::span<const PlanCandidate> found) {
  return std::ranges::min_element(found, {}, Seconds) - found.begin();
}

const PlanCandidate* QuickestOf(const std::vector<PlanCandidate>& found) {
  return found.empty() ? nullptr : &found[IndexOfQuickest(found)];
}

double SecondsOf(const std::vector<PlanCandidate>& found) {
  const PlanCandidate* best = QuickestOf(found);
  return best == nullptr ? std::numeric_limits<double>::infinity()
                         : best->seconds();
}

bool FitsWithFewer(const std::vector<PlanCandidate>& found, Recompute recompute,
                   int64_t count) {
  return std::ranges::any_of(found, [&](const PlanCandidate& one) {
    return one.variant().count < count && one.variant().recompute <= recompute;
  });
}

std::vector<PlanCandidate> Promising(std::vector<PlanCandidate> found,
                                     size_t kept, const SearchPolicy& policy) {
  std::ranges::stable_sort(found, {}, Seconds);
  if (found.size() <= kept) return found;
  const auto after = found.begin() + static_cast<int64_t>(kept);
  std::vector<PlanCandidate> rest(std::make_move_iterator(after),
                                  std::make_move_iterator(found.end()));
  found.erase(after, found.end());
  bool proven = HasProven(found, policy);
  for (PlanCandidate& one : rest) {
    const bool proves = !proven && IsProven(one, Seconds(found[0]), policy);
    if (!proves && !RecomputesOtherwise(one, found, policy)) continue;
    proven = proven || proves;
    found.push_back(std::move(one));
  }
  return found;
}

bool HasProven(std::span<const PlanCandidate> found,
               const SearchPolicy& policy) {
  const double best = Seconds(*std::ranges::min_element(found, {}, Seconds));
  return std::ranges::any_of(found, [&](const PlanCandidate& one) {
    return IsProven(one, best, policy);
  });
}

std::vector<Mesh> PromisingMeshes(const std::vector<PlanCandidate>& found,
                                  const std::vector<Mesh>& meshes,
                                  const SearchPolicy& policy) {
  if (found.empty()) return meshes;
  std::vector<const PlanCandidate*> sorted;
  for (const PlanCandidate& one : found) sorted.push_back(&one);
  std::ranges::stable_sort(
      sorted, {}, [](const PlanCandidate* one) { return one->seconds(); });
  std::vector<Mesh> best;
  for (const PlanCandidate* one : sorted) {
    const Mesh& mesh = one->setting().mesh;
    if (best.size() == policy.prune.promising_meshes) break;
    if (std::ranges::count(best, mesh) == 0) best.push_back(mesh);
  }
  std::vector<Mesh> kept;
  for (const Mesh& mesh : meshes) {
    if (mesh.axes().size() == 1 || std::ranges::count(best, mesh) > 0) {
      kept.push_back(mesh);
    }
  }
  return kept;
}

double BoundOn(const std::vector<PlanCandidate>& found,
               const StepVariant& variant, const Setting& setting) {
  double bound = 0;
  for (const PlanCandidate& one : found) {
    if (&one.variant() == &variant && one.setting().mesh == setting.mesh &&
        one.setting().joint_reductions == setting.joint_reductions) {
      bound = std::max(bound, one.plan().bound_seconds);
    }
  }
  return bound;
}

}  // namespace meshwright
