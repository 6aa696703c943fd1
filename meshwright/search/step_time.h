// The estimated time of a step under strategies that were found but not
// lowered: kernels one after the other, collectives overlapped with them,
// all-reduces combined, as in the program to come (cost/program_cost.h).
#ifndef MESHWRIGHT_SEARCH_STEP_TIME_H_
#define MESHWRIGHT_SEARCH_STEP_TIME_H_

#include <cstdint>
#include <vector>

#include "meshwright/cost/device_clock.h"
#include "meshwright/cost/rates.h"
#include "meshwright/mesh/sharding.h"
#include "meshwright/partition/assignment.h"
#include "meshwright/reshard/reshard.h"
#include "meshwright/search/step_model.h"

namespace meshwright {

// The choice for every group of a step.
struct ChosenSplit {
  std::vector<double> work;  // By group: seconds of one member.
  // By group: of the host, to launch the kernels of a body; else 0.
  std::vector<HostSeconds> host;
  // By group and operand or result; the shardings must outlive this.
  std::vector<std::vector<const Sharding*>> operands;
  std::vector<std::vector<const Sharding*>> results;
  std::vector<Sharing> sharing;  // By value of the flat graph.
};

struct StepTime {
  double seconds = 0;       // Of a step.
  double comm_seconds = 0;  // All collectives, hidden or not.
  // The part of `seconds` spent in loops of the entry computation: with
  // micro-batches, everything that runs for each of them.
  double loop_seconds = 0;
  // With a host that takes no time; and of the host, without what it does once
  // in a step: to prepare the program and to update its graphs.
  struct Part {
    double device_seconds = 0;
    double launch_seconds = 0;
  };
  Part loops;
  Part rest;
};

// Linear in the step. Requires: the resharder is of the same mesh.
StepTime TimeStep(const StepModel& model, const ChosenSplit& split,
                  const Rates& rates, const Prices& prices,
                  Resharder& resharder);

}  // namespace meshwright

#endif  // MESHWRIGHT_SEARCH_STEP_TIME_H_
