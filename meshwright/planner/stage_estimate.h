// Estimates the step time of a pipeline before it is lowered: the seconds of a
// candidate, divided among stages where the step can be cut, and simulated.
#ifndef MESHWRIGHT_PLANNER_STAGE_ESTIMATE_H_
#define MESHWRIGHT_PLANNER_STAGE_ESTIMATE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/pipeline_search/pipeline_step.h"
#include "meshwright/planner/mesh_search.h"
#include "meshwright/planner/plan_task.h"
#include "meshwright/planner/program_arguments.h"
#include "meshwright/schedule/pipeline.h"

namespace meshwright {

class StageEstimator {
 public:
  // `whole`: the step with one micro-batch. Both must outlive the estimator.
  StageEstimator(const PlanTask& task, const StepVariant& whole)
      : task_(task), whole_(whole) {}

  // Seconds of a step, without memory limits. `ranks`: candidates for the whole
  // step, for most ranks and, if some are doubled, for these; their settings
  // differ in the mesh alone. kInvalidArgument if the step cannot be cut into
  // this many stages that all have work.
  using Ranks = std::span<const PlanCandidate* const>;
  absl::StatusOr<double> SecondsOf(Ranks ranks);

 private:
  // Each stage's share of the work, and the bytes that pass between stages per
  // micro-batch, summed over devices.
  struct Shares {
    std::vector<double> work;  // By stage; sums to 1.
    std::vector<StageEdge> edges;
  };

  absl::Status TakeApartOnce(int64_t count);
  absl::StatusOr<Shares> SharesOf(Ranks ranks);
  absl::StatusOr<Shares> EvenShares(Ranks ranks) const;
  PipelineCosts CostsOf(Ranks ranks, Shares shares) const;
  StageCost CostOf(const StepTime& time, const Setting& setting,
                   double part) const;

  const PlanTask& task_;
  const StepVariant& whole_;
  std::optional<PipelineStep> step_;  // With some micro-batch count.
  int64_t layers_ = 1;  // Iterations of its longest loop, which can be split.
  ProgramArguments arguments_;
  // Memoised for large steps; key: the stage count and the devices of each.
  std::map<std::vector<int64_t>, Shares> known_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_STAGE_ESTIMATE_H_
