// Decides how a step runs on a cluster.
//
//   MW_ASSIGN_OR_RETURN(Plan plan, MakePlan(module, cluster, rates, {}));
//   MW_ASSIGN_OR_RETURN(Partitioned split, PartitionPlan(module, plan));
//
// The driver is planner.cc; its steps, with where they are done:
//
//   enumerate        meshes (meshes_to_try.cc), micro-batches and what is
//                    computed again (whole_search.cc), stages (stage_search.cc)
//   sketch           the best strategies of each (search/), with little work
//                    (mesh_search.cc)
//   prune            to the promising (found_plans.cc)
//   refine           more work on those, axes cut in two (refine_mesh.cc)
//   lower and price  as the program that will run (write_plan.cc,
//                    write_stages.cc), aiming lower where that takes too much
//   choose           among programs (finish_whole.cc), experts'
//   (expert_plans.cc)
//                    and with stages or without (planner.cc)
//   prove            a bound on the chosen mesh (finish_whole.cc)
#ifndef MESHWRIGHT_PLANNER_PLANNER_H_
#define MESHWRIGHT_PLANNER_PLANNER_H_

#include <cstdint>
#include <functional>
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

struct PlanRequest {
  Expert expert = Expert::kAuto;
  std::optional<Mesh> mesh;              // As it is; else any.
  std::optional<int64_t> micro_batches;  // As many; else as few as fit.
  std::optional<int32_t> stages;         // As many; else any number.
  std::optional<ScheduleKind> schedule;  // Of several stages; else the fastest.
  std::optional<Recompute> recompute;    // So; else where it helps.
  std::optional<int64_t> memory_bytes;   // On a device; else most of it.
  std::vector<Forbidden> forbidden;      // Axes only of `mesh`.
  // The axis that splits the batch; of `mesh`, or the name to give the first
  // axis of every mesh that is tried. Empty: any or none.
  std::string batch_axis;
  // How tensors must lie on a mesh: pins of a file, annotations of the module.
  std::function<absl::StatusOr<Annotations>(const Mesh& mesh)> annotations;
  double time_limit_seconds = 60;
  uint64_t seed = 1;
  // Called as work goes on, with what is looked at.
  std::function<void(absl::string_view)> report;
};

// kResourceExhausted, saying what would do, when nothing fits;
// kInvalidArgument for what cannot be.
absl::StatusOr<Plan> MakePlan(const Module& module, const Cluster& cluster,
                              const Rates& rates, const PlanRequest& request);

// The plan, and every plan without stages that was written and fits, the chosen
// one among them if it has none.
struct PlanChoice {
  Plan plan;
  std::vector<Plan> finalists;
};
absl::StatusOr<PlanChoice> MakePlans(const Module& module,
                                     const Cluster& cluster, const Rates& rates,
                                     const PlanRequest& request);

// The step that a plan is for: the module, or what computes some of it again,
// or a loop of either over micro-batches.
class PlannedStep {
 public:
  // `module` outlives it.
  static absl::StatusOr<PlannedStep> Of(const Module& module,
                                        int64_t micro_batches,
                                        Recompute recompute);
  const Module& module() const { return made_ != nullptr ? *made_ : *given_; }
  // It is not the module as it was given.
  bool is_made() const { return made_ != nullptr; }

 private:
  const Module* given_ = nullptr;
  std::unique_ptr<Module> made_;
};

// Lowers a plan of this module, of one stage.
absl::StatusOr<Partitioned> PartitionPlan(const Module& module,
                                          const Plan& plan);

// The pipeline that a plan of several stages stands for.
struct PlannedStages {
  std::optional<SplitStep> split;  // What `step` is made of; else the module.
  StagedStep step;
  Timetable timetable;
  StagedLayout layout;
};
absl::StatusOr<PlannedStages> StagePlan(const Module& module, const Plan& plan);

// Both refuse plans whose programs have other collectives than they list. Lists
// them anew, for a plan that was changed.
absl::Status ListCollectives(const Module& module, Plan& plan);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_PLANNER_H_
