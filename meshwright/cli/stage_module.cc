#include "meshwright/cli/stage_module.h"

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "meshwright/api/file_kind.h"
#include "meshwright/api/load_cluster.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/file.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/base/units.h"
#include "meshwright/cli/split_module.h"
#include "meshwright/cost/price_list.h"
#include "meshwright/pipeline/stage_file.h"
#include "meshwright/pipeline_search/pipeline_step.h"
#include "meshwright/pipeline_search/split_for_stages.h"
#include "meshwright/pipeline_search/step_for_stages.h"
#include "meshwright/planner/predict_stages.h"
#include "meshwright/runtime/staged_costs.h"
#include "meshwright/schedule/generate.h"
#include "meshwright/schedule/generate_auto.h"
#include "meshwright/schedule/simulate.h"
#include "meshwright/schedule/trace.h"

namespace meshwright {
namespace {

constexpr int64_t kMaxStages = 1024;

// The value of --stages: a number, or a file.
struct StageList {
  int32_t count = 1;
  std::optional<std::vector<StageEntry>> entries;
};

absl::StatusOr<StageList> ReadStages(const CommandLine& line) {
  const std::string text = line.Text("stages", "");
  StageList list;
  int64_t count = 0;
  if (absl::SimpleAtoi(text, &count)) {
    MW_ASSIGN_OR_RETURN(count, line.Integer("stages", 2, {1, kMaxStages}));
    list.count = static_cast<int32_t>(count);
    return list;
  }
  const absl::StatusOr<std::string> content = ReadFile(text);
  if (absl::IsNotFound(content.status())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--stages ", text, " is neither a number of stages nor a file"));
  }
  MW_RETURN_IF_ERROR(content.status());
  absl::StatusOr<std::vector<StageEntry>> entries = ParseStageFile(*content);
  if (!entries.ok()) {
    return ExplainContent(entries.status(), text, *content, FileKind::kStages);
  }
  list.count = static_cast<int32_t>(entries->size());
  list.entries = *std::move(entries);
  return list;
}

// The pieces of loops that are named in stages.
std::vector<LoopRange> RangesIn(const std::vector<StageEntry>& entries) {
  std::vector<LoopRange> ranges;
  for (const StageEntry& entry : entries) {
    for (const std::string& name : entry.instructions) {
      if (std::optional<LoopRange> range = ParseLoopRange(name)) {
        ranges.push_back(*std::move(range));
      }
    }
  }
  return ranges;
}

absl::StatusOr<Recompute> RecomputeOf(const CommandLine& line) {
  return ParseRecompute(line.Text("recompute", "none"));
}

absl::StatusOr<std::optional<SplitStep>> SplitFor(const Module& module,
                                                  const StageList& list,
                                                  const CommandLine& line) {
  MW_ASSIGN_OR_RETURN(const Recompute recompute, RecomputeOf(line));
  if (!list.entries.has_value()) {
    return StepForStages(module, recompute, list.count);
  }
  MW_ASSIGN_OR_RETURN(std::optional<SplitStep> lean,
                      StepForStages(module, recompute, /*loop_stages=*/1));
  const Module& step = lean.has_value() ? lean->module : module;
  absl::StatusOr<std::optional<SplitStep>> split =
      SplitLoopsAt(step, AnalyzeRoles(step), RangesIn(*list.entries));
  if (!split.ok()) return Annotate(split.status(), line.Text("stages", ""));
  if (!split->has_value()) return lean;
  return split;
}

// `step` is `module` decomposed into forward pass, backward pass and update.
absl::StatusOr<std::vector<StageId>> ForwardStagesOf(const StageList& list,
                                                     const Module& module,
                                                     const PipelineStep& step,
                                                     const CommandLine& line) {
  if (!list.entries.has_value()) {
    MW_ASSIGN_OR_RETURN(const Recompute recompute, RecomputeOf(line));
    MW_ASSIGN_OR_RETURN(
        StepStages best,
        EvenStages(module, step,
                   {.capacity = std::vector<double>(list.count, 1)},
                   recompute));
    return std::move(best.forward);
  }
  const Computation& entry = *step.micro_batch().entry();
  absl::StatusOr<std::vector<StageId>> stages = StagesByName(
      entry, GraphOf(step.split.phases[0]), step.forward, *list.entries);
  if (!stages.ok()) return Annotate(stages.status(), line.Text("stages", ""));
  return stages;
}

// The error if a step cannot be decomposed, with a flag that would help.
absl::Status WhyNotTaken(const absl::Status& why, const Module& module,
                         MicroBatchOptions options, const CommandLine& line) {
  if (!line.Has("micro-batches") &&
      absl::StrContains(why.message(), "does not divide")) {
    return absl::Status(
        why.code(),
        absl::StrCat(why.message(), ", twice the ", options.count / 2,
                     " stages; --micro-batches M says how many instead"));
  }
  if (options.allow_inexact) return why;
  options.allow_inexact = true;
  if (!TakeApart(module, AnalyzeRoles(module), options).ok()) return why;
  return absl::Status(
      why.code(),
      absl::StrCat(why.message(), "; with --estimate-statistics each ",
                   "micro-batch takes its own"));
}

// Rough relative costs of the stages, predicted for virtual devices: nothing is
// known about the real devices yet.
absl::StatusOr<PipelineCosts> RoughCosts(const StagedStep& step,
                                         const StagedLayout& layout,
                                         int32_t ranks) {
  int64_t devices = 0;
  for (int32_t rank = 0; rank < ranks; ++rank) {
    devices += layout.meshes[rank].device_count();
  }
  MW_ASSIGN_OR_RETURN(const Cluster cluster,
                      LoadCluster(absl::StrCat("cpu:", devices)));
  const Rates rates = AssumedRates(cluster);
  std::vector<Prices> prices;
  for (const Mesh& mesh : layout.meshes) {
    prices.push_back(PricesFor(rates, cluster, mesh));
  }
  return PredictStages(step, layout, ranks, cluster,
                       std::vector<Rates>(step.stages, rates), prices)
      .costs;
}

absl::StatusOr<Timetable> ReadTimetable(const CommandLine& line,
                                        const StagedStep& step,
                                        const StagedLayout& layout) {
  const int stages = step.stages;
  const std::string name = line.Text("schedule", "1f1b");
  if (absl::EndsWith(name, ".csv")) {
    MW_ASSIGN_OR_RETURN(const std::string text, ReadFile(name));
    absl::StatusOr<Timetable> timetable = ParseCsv(text);
    if (timetable.ok()) return timetable;
    return ExplainContent(timetable.status(), name, text, FileKind::kTimetable);
  }
  MW_ASSIGN_OR_RETURN(const ScheduleKind kind, ParseScheduleKind(name));
  MW_ASSIGN_OR_RETURN(
      const int64_t ranks,
      line.Integer("ranks", DefaultRanks(kind, stages), {1, stages}));
  const PipelineShape shape{
      .stages = stages,
      .ranks = static_cast<int>(ranks),
      .micro_batches = static_cast<int>(step.micro_batches)};
  if (kind != ScheduleKind::kAuto) return MakeTimetable(shape, kind);
  MW_ASSIGN_OR_RETURN(const PipelineCosts costs,
                      RoughCosts(step, layout, static_cast<int32_t>(ranks)));
  return MakeTimetable(shape, kind, costs);
}

absl::StatusOr<std::vector<Mesh>> MeshesOf(const StageList& list,
                                           const CommandLine& line) {
  MW_ASSIGN_OR_RETURN(const int64_t devices,
                      line.Integer("devices-per-stage", 1, {1, 1 << 20}));
  MW_ASSIGN_OR_RETURN(const Mesh mesh, Mesh::Create({{"data", devices}}));
  std::vector<Mesh> meshes(list.count, mesh);
  for (StageId stage{0}; stage < list.count; ++stage) {
    if (list.entries.has_value() && (*list.entries)[stage].mesh.has_value()) {
      meshes[stage] = *(*list.entries)[stage].mesh;
    }
  }
  return meshes;
}

std::vector<int64_t> StateBytes(const Module& module, const StagedStep& step) {
  const std::vector<Instruction*> parameters = module.entry()->Parameters();
  std::vector<int64_t> bytes(step.stages);
  for (const NextValue& next : step.state) {
    bytes[step.homes[next.parameter]] +=
        ByteSize(parameters[next.parameter]->shape);
  }
  return bytes;
}

absl::StatusOr<std::optional<StagedModule>> StageAsPlanned(
    const Module& module, const CommandLine& line) {
  const std::string path = line.Text("plan", "");
  MW_ASSIGN_OR_RETURN(const Plan plan, LoadPlan(path));
  for (const FlagSpec& flag : StageFlags()) {
    if (line.Has(flag.name)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--", flag.name, ": the plan says that; leave it out"));
    }
  }
  if (plan.stages() == 1) return std::nullopt;
  absl::StatusOr<PlannedStages> stages = StagePlan(module, plan);
  if (!stages.ok()) return Annotate(stages.status(), path);
  std::vector<int64_t> state_bytes = StateBytes(
      stages->split.has_value() ? stages->split->module : module, stages->step);
  StagedModule staged{*std::move(stages)};
  staged.meshes = staged.layout.meshes;
  staged.schedule = std::string(ToString(plan.pipeline->schedule));
  staged.state_bytes = std::move(state_bytes);
  return staged;
}

}  // namespace

std::vector<FlagSpec> StageFlags() {
  return {{"stages", "N|FILE",
           "cut into N stages of about equal work, or as a JSON file says: "
           "names of instructions by stage"},
          {"devices-per-stage", "D",
           "devices over which a stage splits the batch (default 1)"},
          {"micro-batches", "M",
           "with --stages: how many (default: twice the stages)"},
          {"estimate-statistics", "",
           "with --stages: where a sum over the whole batch is needed inside "
           "of it (batch norm), each micro-batch takes its own"},
          {"recompute", "WHAT",
           "with --stages: what backward recomputes instead of keeping "
           "it: none, selective (also: light), full (default none)"},
          {"schedule", "NAME",
           "with --stages: gpipe, 1f1b, interleaved, breadth-first, "
           "zero-bubble, zero-bubble-v, auto, or a .csv timetable (default "
           "1f1b)"},
          {"ranks", "R",
           "with --stages: groups of devices (default: one per stage; one per "
           "two for schedules that take turns)"}};
}

int64_t StagedModule::device_count() const {
  std::map<int, int64_t> by_rank;
  for (size_t stage = 0; stage < meshes.size(); ++stage) {
    by_rank[timetable.rank_of_stage[stage]] = meshes[stage].device_count();
  }
  int64_t count = 0;
  for (const auto& [rank, devices] : by_rank) count += devices;
  return count;
}

absl::StatusOr<std::optional<StagedModule>> StageModule(
    const Module& module, const CommandLine& line) {
  const bool estimates = line.Has("estimate-statistics");
  if (!line.Has("stages")) {
    if (line.Has("plan")) return StageAsPlanned(module, line);
    for (const FlagSpec& flag : StageFlags()) {
      if (!line.Has(flag.name)) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("--", flag.name, " needs --stages"));
    }
    return std::nullopt;
  }
  for (const char* other : {"plan", "sharding", "mesh"}) {
    if (line.Has(other)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--stages and --", other, " exclude each other"));
    }
  }
  MW_ASSIGN_OR_RETURN(const StageList list, ReadStages(line));
  MW_ASSIGN_OR_RETURN(
      const int64_t micro_batches,
      line.Integer("micro-batches", 2 * list.count, {2, kMaxMicroBatches}));
  MW_ASSIGN_OR_RETURN(std::vector<Mesh> meshes, MeshesOf(list, line));
  MW_ASSIGN_OR_RETURN(std::optional<SplitStep> split,
                      SplitFor(module, list, line));
  const Module& cut = split.has_value() ? split->module : module;
  const MicroBatchOptions cutting{.count = micro_batches,
                                  .allow_inexact = estimates};
  absl::StatusOr<PipelineStep> taken =
      TakeApart(cut, AnalyzeRoles(cut), cutting);
  if (!taken.ok()) return WhyNotTaken(taken.status(), cut, cutting, line);
  const PipelineStep& step = *taken;
  StageOptions options{.stages = list.count, .state = step.state};
  MW_ASSIGN_OR_RETURN(options.forward, ForwardStagesOf(list, cut, step, line));
  MW_ASSIGN_OR_RETURN(StagedStep staged,
                      MakeStagePrograms(step.split, options));
  MW_ASSIGN_OR_RETURN(StagedLayout layout, LayOutStages(staged, meshes));
  MW_ASSIGN_OR_RETURN(Timetable timetable, ReadTimetable(line, staged, layout));
  std::vector<int64_t> state_bytes = StateBytes(cut, staged);
  StagedModule made{PlannedStages{.split = std::move(split),
                                  .step = std::move(staged),
                                  .timetable = std::move(timetable),
                                  .layout = std::move(layout)}};
  made.meshes = std::move(meshes);
  made.schedule = line.Text("schedule", "1f1b");
  made.state_bytes = std::move(state_bytes);
  made.estimates_statistics = estimates;
  return made;
}

absl::StatusOr<Simulation> SimulateLastStep(const JobRunner& runner) {
  return Simulate(runner.job().timetable,
                  MeasuredCosts(runner.job().step, runner.execution()));
}

absl::Status WriteStagedTrace(const std::string& path,
                              const JobRunner& runner) {
  MW_ASSIGN_OR_RETURN(const Simulation simulation, SimulateLastStep(runner));
  return WriteFileAtomically(path, ToTrace({{"executed", &runner.execution()},
                                            {"simulated", &simulation}}));
}

void PrintStages(const StagedModule& staged) {
  const StagedStep& step = staged.step;
  for (StageId stage{0}; stage < step.stages; ++stage) {
    std::string programs;
    for (const StageProgram& program : step.programs) {
      if (program.stage != stage) continue;
      absl::StrAppend(&programs, programs.empty() ? "" : " ", program.Name());
    }
    int64_t sent = 0;
    for (const StageValue& value : step.values) {
      const StageProgram& from = step.programs[value.program];
      if (from.stage != stage) continue;
      std::set<int32_t> to;
      for (const ProgramId user : value.users) {
        if (step.programs[user].stage != stage) {
          to.insert(step.programs[user].stage);
        }
      }
      const bool once = from.kind == StageProgram::Kind::kApply;
      sent += ByteSize(value.shape) * std::ssize(to) *
              (once ? 1 : step.micro_batches);
    }
    absl::PrintF(
        "  stage %d on rank %d (%s): %s; %s of state, sends %s per step\n",
        stage, staged.timetable.rank_of_stage[stage],
        staged.meshes[stage].ToString(), programs,
        FormatBytes(staged.state_bytes[stage]), FormatBytes(sent));
  }
}

}  // namespace meshwright
