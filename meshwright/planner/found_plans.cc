#include "meshwright/planner/found_plans.h"

#include <algorithm>
#include <limits>

namespace meshwright {
namespace {

// So many go on to the second round; of small steps more.
constexpr size_t kPromising = 2;

double Seconds(const Found& found) { return found.plan.seconds; }

}  // namespace

const Found* QuickestOf(const std::vector<Found>& found) {
  if (found.empty()) return nullptr;
  return &*std::ranges::min_element(found, {}, Seconds);
}

double SecondsOf(const std::vector<Found>& found) {
  const Found* best = QuickestOf(found);
  return best == nullptr ? std::numeric_limits<double>::infinity()
                         : best->plan.seconds;
}

bool FitsWithLess(const std::vector<Found>& found, Recompute recompute,
                  int64_t count) {
  return std::ranges::any_of(found, [&](const Found& one) {
    return one.cut->count <= count && one.cut->recompute <= recompute &&
           (one.cut->count < count || one.cut->recompute < recompute);
  });
}

void KeepPromising(std::vector<Found>& found) {
  std::ranges::stable_sort(found, {}, Seconds);
  const size_t kept = found[0].cut->model.graph.ops.size() > kManyOps
                          ? kPromising
                          : 2 * kPromising;
  if (found.size() > kept) {
    found.erase(found.begin() + static_cast<int64_t>(kept), found.end());
  }
}

std::vector<Mesh> PromisingMeshes(const std::vector<Found>& found,
                                  const std::vector<Mesh>& meshes) {
  if (found.empty()) return meshes;
  std::vector<const Found*> sorted;
  for (const Found& one : found) sorted.push_back(&one);
  std::ranges::stable_sort(sorted, {},
                           [](const Found* one) { return one->plan.seconds; });
  std::vector<Mesh> best;
  for (const Found* one : sorted) {
    const Mesh& mesh = one->task.mesh;
    if (best.size() == kPromising) break;
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

void ShareBounds(const std::vector<Found>& found, std::vector<Found>& experts) {
  for (Found& expert : experts) {
    for (const Found& other : found) {
      if (other.cut != expert.cut || !(other.task.mesh == expert.task.mesh)) {
        continue;
      }
      expert.plan.bound_seconds = std::min(
          expert.plan.seconds,
          std::max(expert.plan.bound_seconds, other.plan.bound_seconds));
    }
  }
}

}  // namespace meshwright
