// Required shardings: from a sharding file, and from the module itself.
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

// On `mesh`, or on the file's own. Errors are one line that begins with `path`.
absl::StatusOr<ShardingFile> LoadShardings(const std::string& path,
                                           const Module& module,
                                           const ModuleRoles& roles,
                                           const std::optional<Mesh>& mesh);

// Takes from `more` what `given` leaves out.
void Complete(Annotations& given, const Annotations& more);

// The requirements of the file, if given, and of the module's own annotations.
// `module` must outlive the request.
absl::Status ReadPins(const Module& module, const ModuleRoles& roles,
                      const std::optional<std::string>& path,
                      PlanRequest& request);
// The same for a file's text, called `name` in messages.
absl::Status ReadPinsText(const Module& module, const ModuleRoles& roles,
                          const std::string& name, const std::string& text,
                          PlanRequest& request);

}  // namespace meshwright

#endif  // MESHWRIGHT_API_PLAN_PINS_H_
