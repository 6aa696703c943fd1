// Predicts how a step scales: a plan for each of several cluster sizes, and
// what it achieves there.
//
//   MW_ASSIGN_OR_RETURN(std::vector<ScalePoint> points,
//                       PredictScaling({&step}, cluster, sizes, setting));
//   points[0].devices; points[0].throughput_per_device;   // 8, 5.1e3
//
// A single step shows strong scaling: its batch is fixed, so that devices get
// ever fewer samples. Steps with several batch sizes show weak scaling, with
// about as many samples per device at every size.
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

// The cost of failures; see cost/goodput.h.
struct FailureSetting {
  double device_mtbf_hours = 50000;
  double save_bytes_per_second = 2e9;  // Per host.
  double restart_seconds = 300;
  std::optional<double> interval_seconds;
};

struct ScalePoint {
  int64_t devices = 1;
  size_t step = 0;      // Index of the given step.
  int64_t samples = 0;  // Per step; 0: unknown.
  int64_t tokens = 0;   // Per step; 0: unknown.
  std::string why_not;  // If set, there is no plan, and nothing below is known.
  std::string mesh;
  int32_t stages = 1;
  int64_t micro_batches = 1;
  Recompute recompute = Recompute::kNone;
  std::vector<std::string> notes;  // Of the plan.
  double step_seconds = 0;
  // Tokens, or else samples, per second and device.
  double throughput_per_device = 0;
  double mfu = 0;  // 0: unknown.
  double bubble_share = 0;
  double comm_share = 0;  // Not overlapped with computation.
  int64_t peak_bytes = 0;
  double memory_share = 0;  // Of what devices have.
  double gap = 0;
  double save_seconds = 0;  // Of a checkpoint.
  Goodput goodput;
};

struct ScaleSetting {
  api::PlanOptions options;  // Of every plan.
  FailureSetting failures;
  // Called before each size, and while its plan is searched for.
  std::function<void(int64_t devices)> begin;
  std::function<void(absl::string_view what)> report;
  // Called with every plan.
  std::function<absl::Status(const ScalePoint&, const Plan&)> keep;
};

// From one host (of a single host: from one device) to all devices, by factors
// of four; blocks of links stay whole.
std::vector<int64_t> UsualSizes(const Cluster& cluster);

// One point for each of `sizes`, with the step whose samples per device are
// nearest to those of the first step on the first size. kInvalidArgument for
// sizes that are not part of the cluster, kResourceExhausted if nothing fits at
// any. Requires: at least one step and size; sizes ascend.
absl::StatusOr<std::vector<ScalePoint>> PredictScaling(
    absl::Span<const Module* const> steps, const Cluster& cluster,
    absl::Span<const int64_t> sizes, const ScaleSetting& setting);

}  // namespace meshwright

#endif  // MESHWRIGHT_API_SCALING_H_
