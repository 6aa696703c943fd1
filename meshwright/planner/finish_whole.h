// From coarse candidates of non-pipelined plans to the one that is best as a
// lowered program.
#ifndef MESHWRIGHT_PLANNER_FINISH_WHOLE_H_
#define MESHWRIGHT_PLANNER_FINISH_WHOLE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/plan/plan.h"
#include "meshwright/planner/mesh_search.h"
#include "meshwright/planner/plan_log.h"
#include "meshwright/planner/whole_search.h"
#include "meshwright/planner/write_plan.h"

namespace meshwright {

// A refined candidate, and the plan whose program was lowered from it.
struct WrittenCandidate {
  PlanCandidate found;
  Plan plan;
};

struct Finished {
  WrittenCandidate chosen;
  std::vector<PlanCandidate> written;  // All candidates that were lowered.
};

// Refines the most promising candidates of `whole` (at least one must exist),
// lowers them to programs, and chooses among these. A candidate whose program
// takes more memory than the search counted is re-solved with a tighter memory
// limit before the choice; if still nothing fits, more micro-batches are tried.
// If nothing fits in the end, the returned plan's peak exceeds the limit.
absl::StatusOr<Finished> FinishWhole(const PlanTask& task,
                                     const MeshSearch& search,
                                     WholeSearch& whole, PlanLog& log);

// As FinishWhole for the given candidates (at least one), with the effort of
// these steps; no others are tried.
absl::StatusOr<Finished> FinishFound(const PlanTask& task,
                                     const MeshSearch& search,
                                     std::vector<PlanCandidate> found,
                                     const SearchEffort& effort, PlanLog& log);

// Chooses among lowered plans, by index. Normally the fastest that fits; but if
// that one is not proven to be near the best on its mesh, a plan that is about
// as fast and closer to its bound is preferred. If none fits, the fastest.
size_t ChooseWritten(const std::vector<Plan>& plans, int64_t memory_bytes,
                     const SearchPolicy& policy);

// `found`, solved further under this memory limit. The bound of the result
// holds for all plans on its mesh that fit by the search's count.
PlanCandidate Refined(const MeshSearch& search, const PlanCandidate& found,
                      int64_t memory_bytes, double seconds_left);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_FINISH_WHOLE_H_
