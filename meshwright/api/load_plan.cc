#include "meshwright/api/load_plan.h"

#include "meshwright/api/file_kind.h"
#include "meshwright/base/file.h"
#include "meshwright/base/status_macros.h"

namespace meshwright {

absl::StatusOr<Plan> LoadPlan(const std::string& path) {
  MW_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  absl::StatusOr<Plan> plan = ParsePlan(text);
  if (plan.ok()) return plan;
  return ExplainContent(plan.status(), path, text, FileKind::kPlan);
}

}  // namespace meshwright
