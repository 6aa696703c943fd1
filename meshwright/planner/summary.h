// What a plan says about itself once it is decided.
#ifndef MESHWRIGHT_PLANNER_SUMMARY_H_
#define MESHWRIGHT_PLANNER_SUMMARY_H_

#include <string>
#include <vector>

#include "meshwright/cost/rates.h"
#include "meshwright/mesh/cluster.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/partition/partition.h"
#include "meshwright/pipeline/stage_layout.h"
#include "meshwright/pipeline/stage_programs.h"
#include "meshwright/plan/plan.h"
#include "meshwright/search/plan_mesh.h"
#include "meshwright/search/step_model.h"

namespace meshwright {

// The name of the axis that splits the batch, unless the user gives one.
inline constexpr char kBatchAxis[] = "data";

// The mesh with axes named after their purpose: kBatchAxis for the one that
// splits the batch, "model" for the one that splits most of the weights. If
// `batch_axis` is not empty, the first axis gets that name.
Mesh NameAxes(const StepModel& model, const Assignment& assignment,
              const Mesh& mesh, const std::string& batch_axis = "");
// As NameAxes, where it is known which axis splits the batch, if any.
Mesh NameBatchAxis(const Mesh& mesh, std::optional<int32_t> batch,
                   const std::string& batch_axis = "");

// Those that fit, by time, then the others.
std::vector<Alternative> BestFirst(std::vector<Alternative> alternatives);

// Adds those of a program that runs so many `times` in a step.
void AddCollectives(const std::vector<Collective>& collectives, double times,
                    std::vector<PlannedCollective>& listed);
// The collectives of all programs of a pipeline and of its state, per step.
// `splits` by stage: those of the layout.
std::vector<PlannedCollective> CollectivesOf(
    const StagedStep& step, const StagedLayout& layout,
    const std::vector<StageSplit>& splits);

// Fills the tensors, collectives and predictions of `plan` from its program.
void Summarise(const StepModel& model, const Partitioned& split,
               const Cluster& cluster, const Rates& rates, Plan& plan);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_SUMMARY_H_
