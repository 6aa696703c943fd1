// How tensors must lie: what a sharding file and the module itself say.
#ifndef MESHWRIGHT_API_PLAN_PINS_H_
#define MESHWRIGHT_API_PLAN_PINS_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "meshwright/analysis/roles.h"
#include "meshwright/annotations/annotations.h"
#include "meshwright/annotations/sharding_file.h"
#include "meshwright/hlo/module.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/planner/planner.h"

namespace meshwright {

// On `mesh`, or on the file's own. Fails with one line that begins with `path`.
absl::StatusOr<ShardingFile> LoadShardings(const std::string& path,
                                           const Module& module,
                                           const ModuleRoles& roles,
                                           const std::optional<Mesh>& mesh);

// Fills what `given` leaves out from `more`.
void Complete(Annotations& given, const Annotations& more);

// What that file, if there is one, and the module's own annotations ask of a
// plan. `module` outlives the request.
absl::Status ReadPins(const Module& module, const ModuleRoles& roles,
                      const std::optional<std::string>& path,
                      PlanRequest& request);
// The same of a file's text, called `name` in what is said of it.
absl::Status ReadPinsText(const Module& module, const ModuleRoles& roles,
                          const std::string& name, const std::string& text,
                          PlanRequest& request);

}  // namespace meshwright

#endif  // MESHWRIGHT_API_PLAN_PINS_H_
