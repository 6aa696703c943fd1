#include "meshwright/api/plan_step.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/analysis/roles.h"
#include "meshwright/api/load_cluster.h"
#include "meshwright/api/load_step.h"
#include "meshwright/api/plan_pins.h"
#include "meshwright/api/planned_runner.h"
#include "meshwright/base/status_macros.h"

namespace meshwright {

absl::StatusOr<PlanRequest> RequestFrom(const api::PlanOptions& options) {
  PlanRequest request;
  MW_ASSIGN_OR_RETURN(request.expert, ParseExpert(options.strategy));
  if (options.mesh.has_value()) {
    MW_ASSIGN_OR_RETURN(request.mesh, Mesh::Parse(*options.mesh));
  }
  request.micro_batches = options.micro_batches;
  request.stages = options.stages;
  if (options.schedule.has_value()) {
    MW_ASSIGN_OR_RETURN(request.schedule, ParseScheduleKind(*options.schedule));
  }
  if (options.recompute != "auto") {
    MW_ASSIGN_OR_RETURN(request.recompute, ParseRecompute(options.recompute));
  }
  request.memory_bytes = options.memory_bytes;
  if (options.forbid.has_value()) {
    MW_ASSIGN_OR_RETURN(request.forbidden, ParseForbidden(*options.forbid));
  }
  request.batch_axis = options.batch_axis;
  request.time_limit_seconds = options.time_limit_seconds;
  request.steps = options.steps;
  request.seed = options.seed;
  if (options.report) {
    request.report = [report = options.report](absl::string_view what) {
      report(std::string_view(what.data(), what.size()));
    };
  }
  return request;
}

absl::StatusOr<PlanChoice> PlanStep(const Module& module,
                                    const Cluster& cluster,
                                    const api::PlanOptions& options,
                                    PlanRequest request, bool with_finalists) {
  if (options.require_rules) MW_RETURN_IF_ERROR(RequireRules(module));
  const ModuleRoles roles = AnalyzeRoles(module);
  MW_RETURN_IF_ERROR(
      options.pins_text.has_value()
          ? ReadPinsText(module, roles, "pin", *options.pins_text, request)
          : ReadPins(module, roles, options.pins, request));
  MW_ASSIGN_OR_RETURN(const Rates rates,
                      RatesFor(cluster, {.database = options.database,
                                         .assumed = options.assumed}));
  std::optional<PlanChoice> choice;
  if (with_finalists) {
    MW_ASSIGN_OR_RETURN(choice, MakePlans(module, cluster, rates, request));
  } else {
    MW_ASSIGN_OR_RETURN(Plan plan, MakePlan(module, cluster, rates, request));
    choice.emplace(std::move(plan));
  }
  std::vector<std::string>& notes = choice->plan.notes;
  if (cluster.shared_host && cluster.device_count() > kMaxVirtualDevices) {
    notes.push_back(
        absl::StrCat("for ", cluster.device_count(),
                     " virtual devices, of which this "
                     "machine runs ",
                     kMaxVirtualDevices,
                     " at most: the plan cannot be run or checked here"));
  }
  if (const std::string remark = RemarkOn(options.strategy); !remark.empty()) {
    notes.push_back(remark);
  }
  return *std::move(choice);
}

}  // namespace meshwright
