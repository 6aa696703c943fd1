// A plan in words.
#ifndef MESHWRIGHT_API_PLAN_TEXT_H_
#define MESHWRIGHT_API_PLAN_TEXT_H_

#include <string>

#include "meshwright/mesh/cluster.h"
#include "meshwright/plan/plan.h"

namespace meshwright {

// Several lines: what was decided, its predictions, and the runners-up.
std::string PlanText(const Plan& plan, const Cluster& cluster);

// "14.8 ms = compute 13.7 ms + communication 1.1 ms"; for pipelines also apply
// and bubble.
std::string StepText(const Prediction& predicted);

// "mesh data=8", "4 stages, each on mesh data=2"
std::string MeshText(const Plan& plan);

}  // namespace meshwright

#endif  // MESHWRIGHT_API_PLAN_TEXT_H_
