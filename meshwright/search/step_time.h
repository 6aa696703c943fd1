// What a step takes on a mesh by a plan that is found but not written: kernels
// one after the other, collectives beside them, all-reduces combined, as the
// program will have them (cost/program_cost.h).
#ifndef MESHWRIGHT_SEARCH_STEP_TIME_H_
#define MESHWRIGHT_SEARCH_STEP_TIME_H_

#include <cstdint>
#include <vector>

#include "meshwright/cost/rates.h"
#include "meshwright/mesh/sharding.h"
#include "meshwright/partition/assignment.h"
#include "meshwright/reshard/reshard.h"
#include "meshwright/search/step_model.h"

namespace meshwright {

// What was chosen for the groups of a step.
struct ChosenSplit {
  std::vector<double> work;  // By group: seconds of a member.
  // By group and operand or result; outlive it.
  std::vector<std::vector<const Sharding*>> operands;
  std::vector<std::vector<const Sharding*>> results;
  std::vector<Sharing> sharing;  // By value of the flat graph.
};

struct StepTime {
  double seconds = 0;       // Of a step.
  double comm_seconds = 0;  // Collectives, hidden or not.
  // The part of `seconds` that loops of the entry take: with micro-batches,
  // all that runs for each of them.
  double loop_seconds = 0;
};

// Linear in the step. Requires: the resharder is of the split's mesh.
StepTime TimeStep(const StepModel& model, const ChosenSplit& split,
                  const Rates& rates, const Prices& prices,
                  Resharder& resharder);

}  // namespace meshwright

#endif  // MESHWRIGHT_SEARCH_STEP_TIME_H_
