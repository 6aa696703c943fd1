// From sketches of plans without stages to the one that is best as a program.
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

// A sketch, searched on, and the plan that was written of it.
struct Candidate {
  Found found;
  Plan plan;
};

struct Finished {
  Candidate chosen;
  std::vector<Found> written;  // All of which there is a program.
};

// Searches on from the most promising that `whole` has found, of which there
// are some, writes them, and chooses. Where a program takes more than the
// search counted, it is made to aim lower, before one is chosen, and, if
// nothing fits then, to try more micro-batches; if nothing does, the plan's
// peak says so.
absl::StatusOr<Finished> FinishWhole(const PlanTask& task,
                                     const MeshSearch& search,
                                     WholeSearch& whole, PlanLog& log);

// The same for sketches, of which there are some; no others are tried.
absl::StatusOr<Finished> FinishFound(const PlanTask& task,
                                     const MeshSearch& search,
                                     std::vector<Found> found, PlanLog& log);

// Of plans that were written, by index: the quickest that fits or, as long as
// that is not proven to be about the best on its mesh, one that is as good and
// nearer to its bound. Of none that fits the quickest.
size_t ChooseWritten(const std::vector<Plan>& plans, int64_t memory_bytes);

// `found`, searched on with so much memory: its bound holds for all plans of
// that mesh that the search counts as fitting.
Found SearchedOn(const MeshSearch& search, const Found& found,
                 int64_t memory_bytes, double seconds_left);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_FINISH_WHOLE_H_
