#include "meshwright/planner/stage_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "meshwright/base/side_by_side.h"
#include "meshwright/mesh/cluster_mesh.h"
#include "meshwright/planner/meshes_to_try.h"

namespace meshwright {
namespace {

constexpr int64_t kMaxStages = 64;
// Meshes of a stage that are looked at, for each number of stages.
constexpr size_t kMeshes = 2;
// Micro-batches for each stage, so that bubbles are few; and at most.
constexpr int64_t kFewest = 4;
constexpr int64_t kMost = 32;
// More stages are not tried once they take longer than the best by this
// factor.
constexpr double kTooSlow = 1.3;
// With larger bubbles, twice the micro-batches are tried.
constexpr double kLargeBubble = 0.08;

double SecondsOf(double whole, int32_t stages, int64_t count) {
  return whole * static_cast<double>(count + stages - 1) /
         (static_cast<double>(count) * stages);
}

}  // namespace

std::vector<int32_t> StageSearch::StageCounts() const {
  const PlanRequest& request = task_.request;
  const int64_t devices = task_.cluster.device_count();
  if (request.stages.has_value()) return {*request.stages};
  std::vector<int32_t> counts;
  for (int64_t stages = 2; stages <= std::min(kMaxStages, devices); ++stages) {
    if (devices % stages != 0) continue;
    if (request.mesh.has_value() &&
        request.mesh->device_count() * stages != devices) {
      continue;
    }
    counts.push_back(static_cast<int32_t>(stages));
  }
  return counts;
}

std::vector<Mesh> StageSearch::MeshesOf(int32_t stages) const {
  if (task_.request.mesh.has_value()) return {*task_.request.mesh};
  return MeshesOfStage(task_.cluster, task_.cluster.device_count() / stages);
}

// One that is cut already, or the fewest that keep the bubble small.
std::vector<int64_t> StageSearch::CountsFor(
    int32_t stages, const std::vector<Mesh>& meshes,
    const std::set<int64_t>& known) const {
  if (task_.request.micro_batches.has_value()) {
    return {*task_.request.micro_batches};
  }
  const auto suits = [&](int64_t count) {
    return count >= kFewest * stages && count <= kMost * stages &&
           batch_ % count == 0 &&
           std::ranges::any_of(meshes, [&](const Mesh& mesh) {
             return std::ranges::any_of(mesh.axes(), [&](const MeshAxis& axis) {
               return batch_ / count % axis.size == 0;
             });
           });
  };
  for (const int64_t count : known) {
    if (suits(count)) return {count};
  }
  std::vector<int64_t> counts;
  for (int64_t count = 2; count <= batch_ && counts.empty(); ++count) {
    if (suits(count)) counts.push_back(count);
  }
  // Few examples: as many micro-batches as there can be.
  if (counts.empty() && batch_ >= 2 && batch_ <= kMost * stages) {
    counts.push_back(batch_);
  }
  return counts;
}

void StageSearch::Try(int32_t stages, int64_t count,
                      const std::vector<Mesh>& meshes) {
  const absl::StatusOr<std::shared_ptr<const CutStep>> cut = cut_(count);
  if (!cut.ok()) {
    if (!best_.ok()) best_ = cut.status();
    return;
  }
  const size_t tried = std::min(kMeshes, meshes.size());
  std::vector<absl::StatusOr<Found>> found(tried);
  SideBySide(static_cast<int>(tried), [&](int i) {
    found[i] = search_.Sketch(*cut,
                              {.mesh = meshes[i],
                               .memory_limit = task_.memory_bytes,
                               .stages = stages},
                              like_);
  });
  for (size_t i = 0; i < tried; ++i) {
    absl::StatusOr<StageCandidate> candidate = absl::UnknownError("");
    if (!found[i].ok()) {
      candidate = found[i].status();
    } else {
      const double seconds = SecondsOf(found[i]->plan.seconds, stages, count);
      candidate = StageCandidate{*std::move(found[i]), stages, seconds};
    }
    note_(meshes[i], **cut, stages, candidate);
    if (!candidate.ok()) {
      if (!best_.ok()) best_ = candidate.status();
      continue;
    }
    if (!best_.ok() || candidate->seconds < best_->seconds) {
      like_ = candidate->found.plan.placements;
      best_ = *std::move(candidate);
    }
  }
}

absl::StatusOr<StageCandidate> StageSearch::Best(std::set<int64_t> known,
                                                 double best) {
  for (const int32_t stages : StageCounts()) {
    const std::vector<Mesh> meshes = MeshesOf(stages);
    const double before =
        best_.ok() ? best_->seconds : std::numeric_limits<double>::infinity();
    for (const int64_t count : CountsFor(stages, meshes, known)) {
      if (task_.request.report) {
        task_.request.report(absl::StrCat(stages, " stages of ",
                                          meshes[0].ToString(), " x", count));
      }
      Try(stages, count, meshes);
      known.insert(count);
    }
    const double now =
        best_.ok() ? best_->seconds : std::numeric_limits<double>::infinity();
    // Stages after the best, or far behind what there is without them.
    if (std::isfinite(before) && now == before && before > kTooSlow * best) {
      break;
    }
  }
  if (best_.ok() && !task_.request.micro_batches.has_value()) {
    const int64_t count = best_->found.cut->count;
    const double bubble =
        static_cast<double>(best_->stages - 1) / static_cast<double>(count);
    if (bubble > kLargeBubble && batch_ % (2 * count) == 0) {
      Try(best_->stages, 2 * count, {best_->found.task.mesh});
    }
  }
  return std::move(best_);
}

}  // namespace meshwright
