// A pipelined plan: cut, sharded, lowered, priced and scheduled.
#ifndef MESHWRIGHT_PLANNER_WRITE_STAGES_H_
#define MESHWRIGHT_PLANNER_WRITE_STAGES_H_

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "meshwright/plan/plan.h"
#include "meshwright/planner/mesh_search.h"
#include "meshwright/planner/write_plan.h"

namespace meshwright {

// Strategies that were found for the meshes of ranks.
struct StageCandidate {
  // Never empty; several if ranks differ. All of the same split step.
  std::vector<PlanCandidate> layouts;
  // By rank: its index in `layouts`.
  std::vector<int32_t> layout_of_rank;
  // The number of ranks, or a multiple: stages then take turns.
  int32_t stages = 2;
  int32_t loop_pieces = 1;
  double seconds = 0;  // Of a step, as the search counts.
  // By instruction of a micro-batch: how many times longer than counted its
  // stage took when it was priced. Empty: it was not priced yet.
  std::vector<double> pace;
  // By stage: the most bytes that its nodes may hold, as StageGraph counts.
  // Empty: unlimited.
  std::vector<int64_t> most_held;
  // Candidates for the same split step on other meshes with as many devices;
  // single stages may be better off with one of them.
  std::vector<PlanCandidate> rivals;
  // Beyond this balance (StageGraph) it cannot be the best plan, and after the
  // deadline there is another plan: stages are not searched further then.
  double most_balance = std::numeric_limits<double>::infinity();
  absl::Time deadline = absl::InfiniteFuture();

  int32_t ranks() const { return static_cast<int32_t>(layout_of_rank.size()); }
  const PlanCandidate& first() const { return layouts.front(); }
  // The same with as many other strategies.
  StageCandidate With(std::vector<PlanCandidate> other_layouts) const {
    StageCandidate other = *this;
    other.layouts = std::move(other_layouts);
    return other;
  }
};

// The estimate of the fastest; infinite if there is none.
double QuickestSeconds(const std::vector<StageCandidate>& staged);

struct WrittenStages {
  Plan plan;
  // By instruction of a micro-batch: its stage if it is forward, otherwise -1.
  std::vector<StageId> forward;
  // By stage: seconds of forward instructions on its devices, as counted.
  std::vector<double> counted;
  std::vector<int64_t> held;  // By stage: bytes, as StageGraph counts.
};
// If it does not fit, the plan's predicted peak says so. kInvalidArgument if
// the step cannot be cut like that.
absl::StatusOr<WrittenStages> WriteStages(const PlanTask& task,
                                          const StageCandidate& candidate);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_WRITE_STAGES_H_
