// What the stages of a step that is cut and laid out are predicted to take.
#ifndef MESHWRIGHT_PLANNER_PREDICT_STAGES_H_
#define MESHWRIGHT_PLANNER_PREDICT_STAGES_H_

#include <array>
#include <cstdint>
#include <vector>

#include "meshwright/cost/rates.h"
#include "meshwright/mesh/cluster.h"
#include "meshwright/pipeline/stage_layout.h"
#include "meshwright/pipeline/stage_programs.h"
#include "meshwright/reshard/prices.h"
#include "meshwright/schedule/pipeline.h"

namespace meshwright {

struct StagePrediction {
  PipelineCosts costs;  // Without bounds of memory.
  // By stage. Bytes on a device all the time: state, sums, data; and the room
  // that its largest program works in.
  std::vector<int64_t> fixed_bytes;
  std::vector<int64_t> room_bytes;
  // Of all micro-batches of a step: kernels, and collectives that they wait
  // for. What comes once a step is costs.stages[].apply.
  std::vector<double> compute_seconds;
  std::vector<double> exposed_seconds;
  // Of a whole step: collectives in all.
  std::vector<double> comm_seconds;
  std::vector<double> comm_bytes;  // Sent by a device, in a step.
};

// Of a cluster, one after another.
struct StageDevices {
  int64_t first = 0;
  int64_t count = 1;
};
// Until every device of `to` has got `bytes`, from all of `from` alike. `ends`:
// the rates of both.
double TransferSeconds(const StageDevices& from, const StageDevices& to,
                       int64_t bytes, const Cluster& cluster,
                       std::array<const Rates*, 2> ends);

// Stage s is on rank s mod `ranks`, which has the devices after those of the
// rank before it; all stages of a rank have as many. `rates` and `prices` by
// stage: of its devices, and what moves on its mesh cost.
StagePrediction PredictStages(const StagedStep& step,
                              const StagedLayout& layout, int32_t ranks,
                              const Cluster& cluster,
                              const std::vector<Rates>& rates,
                              const std::vector<Prices>& prices);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_PREDICT_STAGES_H_
