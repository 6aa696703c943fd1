// plan --dump DIR: writes everything that was tried to files. The first two are
// written as planning proceeds, and so are there when it fails or is
// interrupted; the others once there is a plan.
//
//   candidates.tsv   every setting, what it takes, why it was not taken
//   phases.tsv       seconds of planning, by phase
//   problem.json     the choice of strategies on the plan's mesh, in the form
//                    of the IOPDDL contest (`meshwright solve` takes it)
//   program.hlo      what every device runs; of stages F0.hlo, I0.hlo, ...
//   plan.json        the plan
#ifndef MESHWRIGHT_CLI_DUMP_PLAN_H_
#define MESHWRIGHT_CLI_DUMP_PLAN_H_

#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "meshwright/base/stopwatch.h"
#include "meshwright/hlo/module.h"
#include "meshwright/plan/plan.h"
#include "meshwright/planner/planner.h"

namespace meshwright {

// Creates the folder that a flag names, or returns why that is impossible. Call
// before the work.
absl::Status MakeDumpFolder(const std::string& folder,
                            absl::string_view flag = "--dump");

// Creates the folder, and removes the files of an earlier plan: this one may
// fail. Call before the work.
absl::Status BeginDump(const std::string& folder);

// The tables, while planning proceeds and once it ends, with or without a plan.
// Files are written through to the disk: at most a few times a second. That the
// disk is full, say, is no reason to end.
class DumpedProgress {
 public:
  explicit DumpedProgress(std::string folder) : folder_(std::move(folder)) {}
  DumpedProgress(const DumpedProgress&) = delete;
  DumpedProgress& operator=(const DumpedProgress&) = delete;
  ~DumpedProgress() { Write(); }

  void Take(const PlanProgress& progress);

 private:
  void Write();

  const std::string folder_;
  std::string candidates_;
  std::string phases_;
  std::optional<Stopwatch> since_write_;
};

absl::Status DumpPlan(const Module& module, const Plan& plan,
                      const std::string& folder);

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_DUMP_PLAN_H_
