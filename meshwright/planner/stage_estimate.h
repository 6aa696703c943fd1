// What a pipeline takes, before it is written: a sketch's seconds, shared by
// stages where the step can be cut, and played in time.
#ifndef MESHWRIGHT_PLANNER_STAGE_ESTIMATE_H_
#define MESHWRIGHT_PLANNER_STAGE_ESTIMATE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/pipeline_search/pipeline_step.h"
#include "meshwright/planner/mesh_search.h"
#include "meshwright/planner/plan_task.h"
#include "meshwright/schedule/pipeline.h"

namespace meshwright {

class StageEstimator {
 public:
  // `whole`: the step with one micro-batch. Both outlive it.
  StageEstimator(const PlanTask& task, const CutStep& whole)
      : task_(task), whole_(whole) {}

  struct Setting {
    int32_t stages = 2;
    // Sketches of the whole step on the meshes that ranks have, of one number
    // of micro-batches; and which of them each rank has.
    std::vector<const Found*> found;
    std::vector<int32_t> layout_of_rank;
  };
  // Seconds of a step, without bounds of memory. kInvalidArgument where the
  // step cannot be cut into so many stages that all have work.
  absl::StatusOr<double> SecondsOf(const Setting& setting);

 private:
  // Parts of the work, and bytes that pass for a micro-batch on all devices.
  struct Shares {
    std::vector<double> work;  // By stage; their sum is 1.
    std::vector<StageEdge> edges;
  };

  absl::Status TakeApartOnce(int64_t count);
  absl::StatusOr<Shares> SharesOf(const Setting& setting);
  absl::StatusOr<Shares> EvenShares(const Setting& setting) const;
  PipelineCosts CostsOf(const Setting& setting, Shares shares) const;

  const PlanTask& task_;
  const CutStep& whole_;
  std::optional<PipelineStep> step_;  // With some number of micro-batches.
  int64_t layers_ = 1;  // Iterations of its longest loop, which can be cut.
  // By stages, and devices of each: what is known of large steps.
  std::map<std::vector<int64_t>, Shares> known_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_STAGE_ESTIMATE_H_
