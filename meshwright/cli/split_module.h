// Partitions the module of a command line according to its flags, a sharding
// file and the module's own annotations.
#ifndef MESHWRIGHT_CLI_SPLIT_MODULE_H_
#define MESHWRIGHT_CLI_SPLIT_MODULE_H_

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/analysis/roles.h"
#include "meshwright/api/load_plan.h"
#include "meshwright/cli/command_line.h"
#include "meshwright/hlo/module.h"
#include "meshwright/partition/partition.h"
#include "meshwright/planner/planner.h"

namespace meshwright {

// The flags that it reads: --plan, or --sharding and --mesh.
std::vector<FlagSpec> SplitFlags();

// The file takes precedence over the module's annotations. kInvalidArgument,
// beginning with the file's name if it is at fault, if there is no mesh or a
// sharding does not fit. Requires: `module` passed Verify.
absl::StatusOr<Partitioned> SplitModule(const Module& module,
                                        const ModuleRoles& roles,
                                        const CommandLine& line);

// --platform, or the platform of a --plan for virtual devices; empty: any.
absl::StatusOr<std::string> PlatformFor(const CommandLine& line);

// The requirements on a plan by --mesh, --pin and the module's own annotations.
// `module` and `roles` must outlive the request.
absl::Status ReadPins(const Module& module, const ModuleRoles& roles,
                      const CommandLine& line, PlanRequest& request);

// [{"kind", "axes", "devices", "bytes", "wire_bytes", "count", "tensor"}].
nlohmann::ordered_json ToJson(const std::vector<Collective>& collectives);

// The sum of wire_bytes over a step.
double WireBytes(const std::vector<Collective>& collectives);

// A line per kind and axes: "all-reduce over data: 1 x, 449.5 kB on the wire".
void PrintCollectives(const std::vector<Collective>& collectives);

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_SPLIT_MODULE_H_
