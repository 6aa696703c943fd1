// meshwright explain: why a plan, or one choice in it, is what it is.
#include "meshwright/explain/explain.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/progress.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/cli/commands.h"
#include "meshwright/cli/explain_print.h"
#include "meshwright/cli/load_module.h"
#include "meshwright/cli/split_module.h"
#include "meshwright/explain/explain_binds.h"
#include "meshwright/explain/explain_names.h"
#include "meshwright/explain/explain_part.h"
#include "meshwright/plan/verify_plan.h"

namespace meshwright {
namespace {

const CommandSpec& ExplainSpec() {
  static const auto* const spec = new CommandSpec{
      .name = "explain",
      .summary =
          "why a plan is as it is: the options there were, their costs, "
          "and what would change the choice; of NAME, an instruction or "
          "parameter, a part of its name, a pattern with *, or a module of "
          "the model",
      .positional = {"PLAN", "[NAME]"},
      .flags = {{"module", "MODULE", "that the plan is for"},
                {"pin", "FILE", "the pins that it was planned with"},
                RulesFlag(),
                {"options", "N",
                 "solve again with at most so many options (default 16 of an "
                 "instruction, 60 of all blocks)"},
                {"json", "", "one JSON object on stdout"}}};
  return *spec;
}

absl::StatusOr<Annotations> PinsOf(const Module& module,
                                   const ModuleRoles& roles, const Plan& plan,
                                   const CommandLine& line) {
  PlanRequest request;
  MW_RETURN_IF_ERROR(ReadPins(module, roles, line, request));
  if (line.Has("pin") && !(*request.mesh == plan.mesh())) {
    return absl::InvalidArgumentError(absl::StrCat(
        line.Text("pin", ""), ": its mesh is ", request.mesh->ToString(),
        ", the plan's ", plan.mesh().ToString()));
  }
  if (!request.annotations) return Annotations();
  return request.annotations(plan.mesh());
}

Blocks BlocksOf(const PlanStudy& study) {
  return FindBlocks(study.model().graph, study.model().rules);
}

// Of --options; 0: not given.
int BlockQuestions(int64_t most) {
  return most > 0 ? static_cast<int>(most) : 60;
}

template <typename Report>
void Show(const Report& report, bool as_json) {
  if (as_json) {
    absl::PrintF("%s\n", ToJson(report).dump(2));
  } else {
    Print(report);
  }
}

absl::Status ExplainNamed(const PlanStudy& study, const CommandLine& line,
                          int64_t most, std::unique_ptr<Progress>& progress) {
  MW_ASSIGN_OR_RETURN(const NamedPart part,
                      StudyNames(study).Called(line.positional(1)));
  if (part.groups.size() > 1) {
    const PartReport report =
        ExplainPart(study, BlocksOf(study), part, BlockQuestions(most));
    progress.reset();
    Show(report, line.Has("json"));
    return absl::OkStatus();
  }
  ChoiceLimits limits;
  if (most > 0) limits.options = static_cast<int>(most);
  MW_ASSIGN_OR_RETURN(const ChoiceReport report,
                      ExplainChoice(study, *part.groups.begin(), limits));
  progress.reset();
  Show(report, line.Has("json"));
  return absl::OkStatus();
}

absl::Status RunExplain(const CommandLine& line) {
  if (!line.Has("module")) {
    return absl::InvalidArgumentError(
        "--module says which module the plan is for");
  }
  MW_ASSIGN_OR_RETURN(const int64_t most,
                      line.Integer("options", 0, {1, 100'000}));
  const std::string path = line.positional(0);
  MW_ASSIGN_OR_RETURN(const Plan plan, LoadPlan(path));
  MW_ASSIGN_OR_RETURN(const Module module,
                      LoadStep(line.Text("module", ""), line));
  MW_RETURN_IF_ERROR(Annotate(Verify(plan, module), path));
  MW_ASSIGN_OR_RETURN(Annotations pins,
                      PinsOf(module, AnalyzeRoles(module), plan, line));
  auto progress = std::make_unique<Progress>("explaining");
  absl::StatusOr<std::unique_ptr<PlanStudy>> made =
      PlanStudy::Of(module, plan, std::move(pins));
  if (!made.ok()) return Annotate(made.status(), path);
  PlanStudy& study = **made;
  study.set_report([&] { progress->Advance("solving again"); });
  if (line.positional_count() > 1) {
    return ExplainNamed(study, line, most, progress);
  }
  PlanReport report{.plan = plan, .binds = ExplainBinds(study)};
  progress->Advance("planning for other meshes");
  MW_ASSIGN_OR_RETURN(std::optional<BindReport> mesh,
                      ExplainMesh(module, study));
  if (mesh.has_value()) report.binds.push_back(*std::move(mesh));
  SortBinds(report.binds);
  report.blocks = ExplainBlocks(study, BlocksOf(study), BlockQuestions(most));
  progress.reset();
  Show(report, line.Has("json"));
  return absl::OkStatus();
}

}  // namespace

extern const Command kExplainCommand = {&ExplainSpec, &RunExplain};

}  // namespace meshwright
