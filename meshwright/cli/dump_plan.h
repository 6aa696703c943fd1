// plan --dump DIR: writes everything that was tried to files.
//
//   candidates.tsv   every setting, what it takes, why it was not taken
//   phases.tsv       seconds of planning, by phase
//   problem.json     the choice of strategies on the plan's mesh, in the form
//                    of the IOPDDL contest (`meshwright solve` takes it)
//   program.hlo      what every device runs; of stages F0.hlo, I0.hlo, ...
//   plan.json        the plan
#ifndef MESHWRIGHT_CLI_DUMP_PLAN_H_
#define MESHWRIGHT_CLI_DUMP_PLAN_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "meshwright/hlo/module.h"
#include "meshwright/plan/plan.h"

namespace meshwright {

// Creates the folder that a flag names, or returns why that is impossible. Call
// before the work.
absl::Status MakeDumpFolder(const std::string& folder,
                            absl::string_view flag = "--dump");

absl::Status DumpPlan(const Module& module, const Plan& plan,
                      const std::string& folder);

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_DUMP_PLAN_H_
