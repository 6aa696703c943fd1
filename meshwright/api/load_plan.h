// Plan files.
#ifndef MESHWRIGHT_API_LOAD_PLAN_H_
#define MESHWRIGHT_API_LOAD_PLAN_H_

#include <string>

#include "absl/status/statusor.h"
#include "meshwright/plan/plan.h"

namespace meshwright {

// Errors are one line that begins with the path.
absl::StatusOr<Plan> LoadPlan(const std::string& path);

}  // namespace meshwright

#endif  // MESHWRIGHT_API_LOAD_PLAN_H_
