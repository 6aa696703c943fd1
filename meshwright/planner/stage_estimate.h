// Estimates the step time of a pipeline before it is lowered: the step is cut
// into stages, the seconds of a candidate are divided among their programs by
// the kernels that each will have, and the timetable is simulated.
#ifndef MESHWRIGHT_PLANNER_STAGE_ESTIMATE_H_
#define MESHWRIGHT_PLANNER_STAGE_ESTIMATE_H_

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "meshwright/base/steady_time.h"
#include "meshwright/loops/split_loops.h"
#include "meshwright/pipeline_search/pipeline_step.h"
#include "meshwright/planner/mesh_search.h"
#include "meshwright/planner/plan_task.h"
#include "meshwright/planner/stage_work.h"
#include "meshwright/schedule/pipeline.h"

namespace meshwright {

class StageEstimator {
 public:
  // `whole`: the step with one micro-batch. Both must outlive the estimator.
  StageEstimator(const PlanTask& task, const StepVariant& whole)
      : task_(task), whole_(whole) {}

  // A pipeline is of no use if it takes longer than this; its estimate is then
  // that of even stages.
  void SetMostSeconds(double seconds) { most_seconds_ = seconds; }

  // Seconds of a step, without memory limits. `ranks`: candidates for the whole
  // step, for most ranks and, if some are doubled, for these; their settings
  // differ in the mesh alone. `pieces`: of each loop over layers. Errors as
  // EvenStages.
  using Ranks = std::span<const PlanCandidate* const>;
  absl::StatusOr<double> SecondsOf(Ranks ranks, int32_t pieces);

 private:
  // The step with its loops split.
  absl::StatusOr<const Module*> SplitInto(int32_t pieces);
  absl::StatusOr<const PipelineStep*> WholeStep(int64_t count);
  absl::StatusOr<const StepWork*> WorkOf(Ranks ranks, int32_t pieces);
  double SecondsIfEven(Ranks ranks) const;
  absl::StatusOr<const WholeWork*> WholeWorkOf(Ranks ranks);
  absl::StatusOr<PipelineCosts> CostsOf(Ranks ranks, const StepWork& work);
  void AddEdges(Ranks ranks, const StepWork& work, PipelineCosts& costs) const;

  const PlanTask& task_;
  const StepVariant& whole_;
  double most_seconds_ = std::numeric_limits<double>::infinity();
  const absl::Time begin_ = SteadyNow();
  // By pieces; nullopt: there is nothing to split.
  std::map<int32_t, std::optional<SplitStep>> split_;
  // With loops whole, by micro-batches, and its work by devices as well.
  std::map<int64_t, PipelineStep> steps_;
  std::map<std::pair<int64_t, int64_t>, WholeWork> whole_work_;
  // By pieces, micro-batches and the devices of each stage.
  std::map<std::tuple<int32_t, int64_t, std::vector<int64_t>>, StepWork> known_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_STAGE_ESTIMATE_H_
