// Decides how a step runs on a cluster.
//
//   MW_ASSIGN_OR_RETURN(Plan plan, MakePlan(module, cluster, rates, {}));
//   MW_ASSIGN_OR_RETURN(Partitioned split, PartitionPlan(module, plan));
//
// The driver is planner.cc. Its steps, and where they are implemented:
//
//   enumerate   meshes (meshes_to_try.cc), step variants: micro-batches and
//               rematerialisation (whole_search.cc, variants.cc), stages
//               (stage_search.cc)
//   sketch      coarse candidates: the best strategies of each setting
//               (search/), with little solver work (mesh_search.cc)
//   prune       to the promising ones (plan_candidates.cc)
//   refine      these with more work, and with one axis split in two
//               (refine_mesh.cc)
//   lower       to the programs that will run, and price these (write_plan.cc,
//               write_stages.cc); solve again with a tighter memory limit where
//               they need too much
//   choose      among programs (finish_whole.cc), experts' plans
//               (expert_plans.cc), pipelined or not (planner.cc)
//   prove       a bound on the chosen mesh (finish_whole.cc)
//
// Plan::seconds and phases.tsv of `plan --dump` say how long each took
// (plan_log.h).
#ifndef MESHWRIGHT_PLANNER_PLANNER_H_
#define MESHWRIGHT_PLANNER_PLANNER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "meshwright/cost/rates.h"
#include "meshwright/hlo/module.h"
#include "meshwright/loops/split_loops.h"
#include "meshwright/mesh/cluster.h"
#include "meshwright/partition/forbidden.h"
#include "meshwright/partition/partition.h"
#include "meshwright/pipeline/stage_layout.h"
#include "meshwright/pipeline/stage_programs.h"
#include "meshwright/plan/plan.h"
#include "meshwright/remat/recompute.h"
#include "meshwright/schedule/schedule_kind.h"
#include "meshwright/schedule/timetable.h"
#include "meshwright/search/expert.h"

namespace meshwright {

// How far planning is.
struct PlanProgress {
  const std::vector<Alternative>& tried;         // In the order of trial.
  const std::map<std::string, double>& seconds;  // By phase (plan_log.h).
};
using PlanRecorder = std::function<void(const PlanProgress&)>;

struct PlanRequest {
  Expert expert = Expert::kAuto;
  std::optional<Mesh> mesh;  // If set, this mesh and no other.
  // If set, this many; else as few as fit.
  std::optional<int64_t> micro_batches;
  std::optional<int32_t> stages;  // If set, this many; else any number.
  // Of pipelines; if not set, the fastest.
  std::optional<ScheduleKind> schedule;
  std::optional<Recompute> recompute;  // If set, this policy; else chosen.
  // Limit per device; default: most of it.
  std::optional<int64_t> memory_bytes;
  std::vector<Forbidden> forbidden;  // Axes may be named only if `mesh` is set.
  // The axis that splits the batch: an axis of `mesh`, or else the name to give
  // to the first axis of every mesh that is tried. Empty: no requirement.
  std::string batch_axis;
  // Required shardings on a given mesh: the pins of a file and the annotations
  // of the module.
  std::function<absl::StatusOr<Annotations>(const Mesh& mesh)> annotations;
  double time_limit_seconds = 60;
  // How many steps the run has: planning ends when what it may still gain over
  // them is less than it takes (SearchPolicy::Choose). Not set: any number.
  std::optional<int64_t> steps;
  uint64_t seed = 1;
  // Called while planning proceeds, with what is being tried.
  std::function<void(absl::string_view)> report;
  // Called when a candidate was tried and when a phase ends, also if there is
  // no plan in the end.
  PlanRecorder record;
};

// kResourceExhausted if nothing fits, with the memory or the number of devices
// that would suffice; kInvalidArgument if the request cannot be satisfied at
// all.
absl::StatusOr<Plan> MakePlan(const Module& module, const Cluster& cluster,
                              const Rates& rates, const PlanRequest& request);

// The chosen plan, and every non-pipelined plan that was lowered and fits. The
// chosen plan is one of these if it is not pipelined.
struct PlanChoice {
  Plan plan;
  std::vector<Plan> finalists;
};
absl::StatusOr<PlanChoice> MakePlans(const Module& module,
                                     const Cluster& cluster, const Rates& rates,
                                     const PlanRequest& request);

// The step that a plan's strategies are for: the module, with rematerialisation
// if the plan has it, with rows sorted in blocks, looped over micro-batches if
// there are several.
class PlannedStep {
 public:
  // `module` must outlive the result. `row_blocks`: as in MicroBatchOptions.
  static absl::StatusOr<PlannedStep> Of(const Module& module,
                                        int64_t micro_batches,
                                        Recompute recompute,
                                        int64_t row_blocks);
  // That of a plan; with stages, of the module that these are cut from.
  static absl::StatusOr<PlannedStep> Of(const Module& module, const Plan& plan);
  const Module& module() const {
    return made_ != nullptr ? *made_ : recomputing();
  }
  // With rematerialisation only.
  const Module& recomputing() const {
    return recomputing_ != nullptr ? *recomputing_ : *given_;
  }
  // Whether the step differs from the given module.
  bool is_made() const { return &module() != given_; }

 private:
  const Module* given_ = nullptr;
  std::unique_ptr<Module> split_;        // If set, the given one.
  std::unique_ptr<Module> recomputing_;  // Null: the given one.
  std::unique_ptr<Module> made_;         // Null: `recomputing`.
};

// Lowers a non-pipelined plan of this module. kInvalidArgument if it is not
// what the plan says (Verify in plan/verify_plan.h).
absl::StatusOr<Partitioned> PartitionPlan(const Module& module,
                                          const Plan& plan);

// The pipeline that a plan of several stages describes.
struct PlannedStages {
  // If set, `step` is cut from this; else from the module.
  std::optional<SplitStep> split;
  StagedStep step;
  Timetable timetable;
  StagedLayout layout;
};
absl::StatusOr<PlannedStages> StagePlan(const Module& module, const Plan& plan);

// Lists a plan's collectives and tensors anew, after the plan was changed;
// PartitionPlan and StagePlan would refuse it otherwise.
absl::Status ListAnew(const Module& module, Plan& plan);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_PLANNER_H_
