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

// Of the axis that splits the batch, unless the user names it.
inline constexpr char kBatchAxis[] = "data";

// The same mesh with names that tell what its axes are for: kBatchAxis for the
// one that splits the batch, "model" for the one that splits most of the
// weights. If `batch_axis` is not empty, the first axis has that name.
Mesh NameAxes(const StepModel& model, const Assignment& assignment,
              const Mesh& mesh, const std::string& batch_axis = "");
// The same when nothing is known of what the axes carry.
Mesh NameInOrder(const Mesh& mesh, const std::string& batch_axis = "");

// Those that fit by their time, then the others.
std::vector<Alternative> BestFirst(std::vector<Alternative> alternatives);

// Which values are moved apart or in place.
void RecordSharing(const std::vector<Sharing>& sharing, PlannedLayout& layout);

// Tensors of the step that lie so, and what is moved `times` times; comm_bytes
// is left alone.
void AddTensors(const StepModel& model, const std::vector<Sharding>& parameters,
                const std::vector<Sharding>& outputs, Plan& plan);
void AddCollectives(const std::vector<Collective>& collectives, double times,
                    std::vector<PlannedCollective>& listed);
// Those of all programs of a pipeline, in a step.
std::vector<PlannedCollective> CollectivesOf(const StagedStep& step,
                                             const StagedLayout& layout);

// Fills tensors, collectives and predictions of `plan` from the program.
void Summarise(const StepModel& model, const Partitioned& split,
               const Cluster& cluster, const Rates& rates, Plan& plan);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_SUMMARY_H_
