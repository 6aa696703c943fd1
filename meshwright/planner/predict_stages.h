// Predicted time and memory of the stages of a pipeline that is cut and
// sharded.
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
  PipelineCosts costs;  // Without memory limits.
  // By stage, bytes per device: what is held all the time (state, accumulated
  // gradients, data), and the temporaries of its largest program.
  std::vector<int64_t> fixed_bytes;
  std::vector<int64_t> room_bytes;
  // By stage, seconds of all micro-batches of a step: kernels, and the
  // collectives that kernels wait for. What runs once per step is in
  // costs.stages[].apply.
  std::vector<double> compute_seconds;
  std::vector<double> exposed_seconds;
  // By stage, seconds per step of all collectives, hidden or not.
  std::vector<double> comm_seconds;
  std::vector<double> comm_bytes;  // By stage, sent by a device per step.
};

// A contiguous range of a cluster's devices.
struct StageDevices {
  int64_t first = 0;
  int64_t count = 1;
};
// Seconds until every device of `to` has received `bytes`, sent in equal parts
// by the devices of `from`. `ends`: the rates of both.
double TransferSeconds(const StageDevices& from, const StageDevices& to,
                       int64_t bytes, const Cluster& cluster,
                       std::array<const Rates*, 2> ends);

// Stage s runs on rank s mod `ranks`; ranks own consecutive, equally long
// ranges of devices, in order. `rates` and `prices` are by stage: those of its
// devices, and of reshards on its mesh.
StagePrediction PredictStages(const StagedStep& step,
                              const StagedLayout& layout, int32_t ranks,
                              const Cluster& cluster,
                              const std::vector<Rates>& rates,
                              const std::vector<Prices>& prices);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_PREDICT_STAGES_H_
