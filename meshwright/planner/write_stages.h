// A plan with stages, cut, laid out, priced and scheduled.
#ifndef MESHWRIGHT_PLANNER_WRITE_STAGES_H_
#define MESHWRIGHT_PLANNER_WRITE_STAGES_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/plan/plan.h"
#include "meshwright/planner/mesh_search.h"
#include "meshwright/planner/write_plan.h"

namespace meshwright {

// Strategies that were found for the meshes of ranks.
struct StageCandidate {
  // The layout of a rank, and others that ranks may have; all of one cut step.
  Found found;
  std::vector<Found> others;
  // By rank: 0, or i for others[i - 1].
  std::vector<int32_t> layout_of_rank;
  int32_t stages = 2;  // As many as ranks, or a multiple: they take turns.
  int32_t loop_pieces = 1;
  double seconds = 0;  // Of a step, as the search counts.
  // By instruction of a micro-batch: how many times longer its stage took than
  // counted when it was priced; empty: it was not.
  std::vector<double> pace;
  // Of the same cut step on other meshes with as many devices; a stage may be
  // better off with one of them.
  std::vector<Found> rivals;

  int32_t ranks() const { return static_cast<int32_t>(layout_of_rank.size()); }
  const Found& layout(int32_t index) const {
    return index == 0 ? found : others[index - 1];
  }
  Found& layout(int32_t index) {
    return index == 0 ? found : others[index - 1];
  }
  int32_t layout_count() const {
    return 1 + static_cast<int32_t>(others.size());
  }
};

struct WrittenStages {
  Plan plan;
  // By stage: seconds of forward instructions on its devices.
  std::vector<double> counted;
};
// The peak of what does not fit says so. kInvalidArgument when the step cannot
// be cut like that.
absl::StatusOr<WrittenStages> WriteStages(const PlanTask& task,
                                          const StageCandidate& candidate);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_WRITE_STAGES_H_
