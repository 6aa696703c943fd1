// A plan in words.
#ifndef MESHWRIGHT_CLI_PRINT_PLAN_H_
#define MESHWRIGHT_CLI_PRINT_PLAN_H_

#include <string>

#include "meshwright/mesh/cluster.h"
#include "meshwright/plan/plan.h"

namespace meshwright {

// On stdout: what was decided, what it should take, and the runners-up.
void PrintPlan(const Plan& plan, const Cluster& cluster);

// "14.8 ms = compute 13.7 ms + communication 1.1 ms", with stages also apply
// and bubble.
std::string StepText(const Prediction& predicted);

// "mesh data=8", "4 stages, each on mesh data=2"
std::string MeshText(const Plan& plan);

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_PRINT_PLAN_H_
