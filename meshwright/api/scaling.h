// How a step is predicted to scale: a plan for each of several sizes of a
// cluster, and what it achieves there.
//
//   MW_ASSIGN_OR_RETURN(std::vector<ScalePoint> points,
//                       PredictScaling({&step}, cluster, sizes, setting));
//   points[0].devices; points[0].throughput_per_device;   // 8, 5.1e3
//
// One step says how it scales with its batch as it is ("strong"): ever fewer
// samples for each device. Steps of several batches say how the model does with
// about as many samples for each device at every size ("weak").
#ifndef MESHWRIGHT_API_SCALING_H_
#define MESHWRIGHT_API_SCALING_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "meshwright/api/meshwright.h"
#include "meshwright/cost/goodput.h"
#include "meshwright/hlo/module.h"
#include "meshwright/mesh/cluster.h"
#include "meshwright/plan/plan.h"

namespace meshwright {

// What failures cost; see cost/goodput.h.
struct FailureSetting {
  double device_mtbf_hours = 50000;
  double save_bytes_per_second = 2e9;  // Of a host.
  double restart_seconds = 300;
  std::optional<double> interval_seconds;
};

struct ScalePoint {
  int64_t devices = 1;
  size_t step = 0;      // Which of the steps that were given.
  int64_t samples = 0;  // Of a step; 0: not known.
  int64_t tokens = 0;   // The same.
  std::string why_not;  // There is no plan: nothing below is known.
  std::string mesh;
  int32_t stages = 1;
  int64_t micro_batches = 1;
  std::string recompute;
  std::vector<std::string> notes;  // Of the plan.
  double step_seconds = 0;
  // Tokens, or else samples, in a second on each device.
  double throughput_per_device = 0;
  double mfu = 0;  // 0: not known.
  double bubble_share = 0;
  double comm_share = 0;  // Not hidden under computation.
  int64_t peak_bytes = 0;
  double gap = 0;
  double save_seconds = 0;  // Of a checkpoint.
  Goodput goodput;
};

struct ScaleSetting {
  api::PlanOptions options;  // Of every plan.
  FailureSetting failures;
  // Called before each size and as its plan is looked for.
  std::function<void(int64_t devices)> begin;
  std::function<void(absl::string_view what)> report;
  // Called with every plan.
  std::function<absl::Status(const ScalePoint&, const Plan&)> keep;
};

// From a host (of one host: from a device) to all devices, by four times as
// many each; blocks of links stay whole.
std::vector<int64_t> UsualSizes(const Cluster& cluster);

// One point for each of `sizes`, of the step whose samples per device are
// nearest to those that the first has on the first of them. kInvalidArgument
// for sizes that are no part of the cluster, kResourceExhausted if nothing fits
// at any. Requires: there is a step and a size; sizes ascend.
absl::StatusOr<std::vector<ScalePoint>> PredictScaling(
    absl::Span<const Module* const> steps, const Cluster& cluster,
    absl::Span<const int64_t> sizes, const ScaleSetting& setting);

}  // namespace meshwright

#endif  // MESHWRIGHT_API_SCALING_H_
