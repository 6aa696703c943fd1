// meshwright plan: decides how a module runs on a cluster.
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "meshwright/api/load_cluster.h"
#include "meshwright/api/plan_step.h"
#include "meshwright/api/plan_text.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/file.h"
#include "meshwright/base/progress.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/base/units.h"
#include "meshwright/cli/commands.h"
#include "meshwright/cli/dump_plan.h"
#include "meshwright/cli/load_module.h"
#include "meshwright/cli/measure_plans.h"
#include "meshwright/planner/planner.h"
#include "meshwright/planner/price_whole_ops.h"

namespace meshwright {
namespace {

const CommandSpec& PlanSpec() {
  static const auto* const spec = new CommandSpec{
      .name = "plan",
      .summary = "decide how a module runs on a cluster",
      .positional = {"MODULE"},
      .flags = {
          {"cluster", "C",
           "a cluster file, or cpu:8, h200:8, h200:64x8 (hosts x devices)"},
          {"output", "FILE", "write the plan here (also -o)",
           FileUse::kWritten},
          {"dump", "DIR",
           "write what was looked at into this folder: candidates.tsv and "
           "phases.tsv, also if there is no plan in the end; the problem that "
           "was solved (problem.json, in the form "
           "of the IOPDDL contest), the programs of devices as HLO text, "
           "plan.json"},
          {"strategy", "NAME",
           "auto (default), dp, zero2, zero3, megatron, sequence, volume; also "
           "by other names: ddp is dp, zero1 zero2, fsdp zero3, tp megatron, "
           "sp sequence"},
          {"mesh", "AXES", "data=4,model=2: this mesh only"},
          {"micro-batches", "M", "this many (default: as few as fit)"},
          {"stages", "N",
           "cut into this many stages; 1: do not cut (default: whatever is "
           "fastest)"},
          {"schedule", "NAME",
           "of several stages: gpipe, 1f1b, zero-bubble or auto (default)"},
          {"recompute", "WHAT",
           "what backward recomputes to save memory: auto (default), none, "
           "selective (not contractions that take long; also: light), full"},
          {"memory", "GIB", "what a device may use (default: 92 % of it)"},
          {"pin", "FILE",
           "JSON: how parameters, outputs and instructions must lie; needs "
           "--mesh or a mesh in the file"},
          RulesFlag(),
          RequireRulesFlag(),
          {"forbid", "KINDS",
           "all-reduce, all-gather, reduce-scatter, all-to-all, "
           "collective-permute: collectives to do without, commas between; "
           "all-gather@data only along an axis of --mesh"},
          {"batch-axis", "AXIS",
           "the inputs' batch is split along this axis: of --mesh, or the "
           "first one"},
          {"database", "FILE", "calibrated rates (default: the user's cache)"},
          {"assumed", "", "do not use calibrated rates"},
          {"measure", "",
           "run steps of the best plans on this machine's devices, and choose "
           "by that"},
          {"time-limit", "S", "seconds (default 60)"},
          {"steps", "N",
           "how many the run has: planning ends when what it may still gain "
           "over them is less than it takes"},
          {"seed", "S", "of the search (default 1)"},
          {"json", "", "the plan as one JSON object on stdout"}}};
  return *spec;
}

absl::StatusOr<double> Positive(const CommandLine& line, const char* flag,
                                const char* unit, double otherwise) {
  if (!line.Has(flag)) return otherwise;
  double value = 0;
  if (!absl::SimpleAtod(line.Text(flag, ""), &value) || !(value > 0) ||
      value > 1e9) {
    return absl::InvalidArgumentError(
        absl::StrCat("--", flag, " must be a positive number of ", unit,
                     ", at most 1e9, not '", line.Text(flag, ""), "'"));
  }
  return value;
}

// The plan, or one with a similar prediction that is faster.
absl::StatusOr<Plan> BestMeasured(const Module& module, Client* client,
                                  std::vector<Plan> finalists, Plan plan) {
  if (plan.stages() > 1) {
    plan.notes.push_back(
        "not measured: the plan has stages (--stages 1 measures plans without "
        "them)");
    return plan;
  }
  finalists.push_back(plan);
  MW_ASSIGN_OR_RETURN(
      Plan best,
      QuickestMeasured(module, NearestPlans(std::move(finalists)), client));
  best.notes = plan.notes;
  best.alternatives = plan.alternatives;
  best.seconds = plan.seconds;
  return best;
}

absl::StatusOr<api::PlanOptions> OptionsOf(const CommandLine& line) {
  api::PlanOptions options;
  options.strategy = line.Text("strategy", "auto");
  options.mesh = line.Optional("mesh");
  if (line.Has("micro-batches")) {
    MW_ASSIGN_OR_RETURN(options.micro_batches,
                        line.Integer("micro-batches", 1, {1, 65536}));
  }
  if (line.Has("stages")) {
    MW_ASSIGN_OR_RETURN(const int64_t stages,
                        line.Integer("stages", 1, {1, 1024}));
    options.stages = static_cast<int32_t>(stages);
  }
  options.schedule = line.Optional("schedule");
  options.recompute = line.Text("recompute", "auto");
  if (line.Has("memory")) {
    MW_ASSIGN_OR_RETURN(const double gib, Positive(line, "memory", "GiB", 0));
    options.memory_bytes = static_cast<int64_t>(gib * (1 << 30));
  }
  options.forbid = line.Optional("forbid");
  options.batch_axis = line.Text("batch-axis", "");
  options.pins = line.Optional("pin");
  options.database = line.Optional("database");
  options.assumed = line.Has("assumed");
  MW_ASSIGN_OR_RETURN(options.time_limit_seconds,
                      Positive(line, "time-limit", "seconds", 60));
  if (line.Has("steps")) {
    MW_ASSIGN_OR_RETURN(options.steps,
                        line.Integer("steps", 1, {1, INT64_MAX}));
  }
  MW_ASSIGN_OR_RETURN(const int64_t seed,
                      line.Integer("seed", 1, {0, INT64_MAX}));
  options.seed = static_cast<uint64_t>(seed);
  return options;
}

absl::Status RunPlan(const CommandLine& line) {
  if (!line.Has("cluster")) {
    return absl::InvalidArgumentError(
        "--cluster says what to plan for: a cluster file, or cpu:8, h200:8");
  }
  if (line.Has("dump")) {
    MW_RETURN_IF_ERROR(BeginDump(line.Text("dump", "")));
  }
  MW_ASSIGN_OR_RETURN(api::PlanOptions options, OptionsOf(line));
  MW_ASSIGN_OR_RETURN(PlanRequest request, RequestFrom(options));
  MW_ASSIGN_OR_RETURN(const Cluster cluster,
                      LoadCluster(line.Text("cluster", "")));
  MW_ASSIGN_OR_RETURN(const Module module, LoadStep(line.positional(0), line));
  auto progress = std::make_unique<Progress>("planning");
  request.report = [&](absl::string_view what) { progress->Advance(what); };
  std::optional<DumpedProgress> dumped;
  if (line.Has("dump")) {
    dumped.emplace(line.Text("dump", ""));
    request.record = [&](const PlanProgress& so_far) { dumped->Take(so_far); };
  }
  std::unique_ptr<Client> client;
  if (line.Has("measure")) {
    MW_ASSIGN_OR_RETURN(client, ClientOf(cluster));
  }
  MW_ASSIGN_OR_RETURN(PlanChoice choice,
                      PlanStep(module, cluster, options, std::move(request),
                               /*with_finalists=*/line.Has("measure")));
  Plan& plan = choice.plan;
  progress.reset();
  dumped.reset();
  if (line.Has("measure")) {
    MW_ASSIGN_OR_RETURN(
        plan, BestMeasured(module, client.get(), std::move(choice.finalists),
                           std::move(plan)));
  }
  MW_ASSIGN_OR_RETURN(plan.whole, PriceWholeOps(module, plan));
  if (line.Has("output")) {
    MW_RETURN_IF_ERROR(WriteFileAtomically(line.Text("output", ""),
                                           absl::StrCat(ToJson(plan), "\n")));
  }
  if (line.Has("dump")) {
    MW_RETURN_IF_ERROR(DumpPlan(module, plan, line.Text("dump", "")));
  }
  if (line.Has("json")) {
    absl::PrintF(
        "%s\n", ToJson(plan, {.with_seconds = true, .with_strategies = false}));
  } else {
    absl::PrintF("%s", PlanText(plan, cluster));
  }
  return absl::OkStatus();
}

}  // namespace

extern const Command kPlanCommand = {&PlanSpec, &RunPlan};

}  // namespace meshwright
