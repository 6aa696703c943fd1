#include "meshwright/cli/simulate_input.h"

#include <cmath>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "meshwright/api/file_kind.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/file.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/cli/split_module.h"
#include "meshwright/plan/plan.h"

namespace meshwright {
namespace {

constexpr int64_t kMaxCount = 1 << 20;
constexpr double kMebibyte = 1 << 20;
constexpr double kGibibyte = 1 << 30;

absl::StatusOr<double> Number(const std::string& flag, absl::string_view text) {
  double value = 0;
  if (!absl::SimpleAtod(text, &value) || !(value >= 0) || value > 1e9) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--", flag, ": \"", text, "\" is no number from 0 to 1000000000"));
  }
  return value;
}

// One number for all, or `count` numbers separated by commas.
absl::StatusOr<std::vector<double>> Numbers(const CommandLine& line,
                                            const std::string& flag,
                                            double otherwise, int count,
                                            absl::string_view what) {
  std::vector<double> values;
  if (!line.Has(flag)) {
    values.push_back(otherwise);
  } else {
    for (const absl::string_view text :
         absl::StrSplit(line.Text(flag, ""), ',')) {
      MW_ASSIGN_OR_RETURN(const double value, Number(flag, text));
      values.push_back(value);
    }
  }
  if (values.size() == 1) values.resize(static_cast<size_t>(count), values[0]);
  if (std::ssize(values) != count) {
    return absl::InvalidArgumentError(
        absl::StrCat("--", flag, " has ", values.size(),
                     " numbers, but there are ", count, " ", what));
  }
  return values;
}

int64_t ToBytes(double count, double unit) {
  return std::llround(count * unit);
}

// --edge 0:3=0.1: from stage 0 to 3, seconds each way.
absl::StatusOr<StageEdge> ParseEdge(const std::string& text) {
  int from = 0;
  int to = 0;
  const std::vector<std::string> sides = absl::StrSplit(text, '=');
  const std::vector<std::string> ends = absl::StrSplit(sides[0], ':');
  if (sides.size() > 2 || ends.size() != 2 ||
      !absl::SimpleAtoi(ends[0], &from) || !absl::SimpleAtoi(ends[1], &to)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--edge: \"", text, "\" is not FROM:TO or FROM:TO=SECONDS"));
  }
  StageEdge edge{.from = StageId(from), .to = StageId(to)};
  if (sides.size() == 2) {
    MW_ASSIGN_OR_RETURN(edge.forward_seconds, Number("edge", sides[1]));
    edge.backward_seconds = edge.forward_seconds;
  }
  return edge;
}

absl::StatusOr<PipelineShape> ReadShape(const CommandLine& line) {
  if (!line.Has("stages") && !line.Has("devices")) {
    return absl::InvalidArgumentError(
        "--stages or --devices says how long the pipeline is");
  }
  MW_ASSIGN_OR_RETURN(const int64_t chunks,
                      line.Integer("chunks", 1, {1, kMaxCount}));
  MW_ASSIGN_OR_RETURN(int64_t stages,
                      line.Integer("stages", 0, {1, kMaxCount}));
  MW_ASSIGN_OR_RETURN(int64_t devices,
                      line.Integer("devices", 0, {1, kMaxCount}));
  MW_ASSIGN_OR_RETURN(const int64_t micro_batches,
                      line.Integer("micro-batches", 0, {1, kMaxCount}));
  if (micro_batches == 0) {
    return absl::InvalidArgumentError(
        "--micro-batches says how many pass through the pipeline");
  }
  if (stages > 0 && devices > 0 && line.Has("chunks") &&
      stages != devices * chunks) {
    return absl::InvalidArgumentError(
        absl::StrCat("--stages ", stages, " is not --devices ", devices,
                     " times --chunks ", chunks));
  }
  if (stages == 0) stages = devices * chunks;
  if (devices == 0) devices = (stages + chunks - 1) / chunks;
  if (stages > kMaxCount) {
    return absl::InvalidArgumentError(
        absl::StrCat("--devices times --chunks is more than ", kMaxCount));
  }
  PipelineShape shape;
  shape.stages = static_cast<int>(stages);
  shape.ranks = static_cast<int>(devices);
  shape.micro_batches = static_cast<int>(micro_batches);
  MW_RETURN_IF_ERROR(CheckShape(shape));
  return shape;
}

absl::Status ReadMemory(const CommandLine& line, SimulateInput& input) {
  input.in_bytes = line.Has("activations");
  std::vector<StageCost>& stages = input.costs.stages;
  const int count = input.shape.stages;
  if (!input.in_bytes) {
    for (const char* flag : {"kept", "memory"}) {
      if (!line.Has(flag)) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("--", flag, " needs --activations"));
    }
    for (StageCost& stage : stages) stage.held_bytes = 1;
    return absl::OkStatus();
  }
  MW_ASSIGN_OR_RETURN(const std::vector<double> held,
                      Numbers(line, "activations", 0, count, "stages"));
  MW_ASSIGN_OR_RETURN(const std::vector<double> kept,
                      Numbers(line, "kept", 0, count, "stages"));
  for (StageId stage{0}; stage < count; ++stage) {
    stages[stage].held_bytes = ToBytes(held[stage], kMebibyte);
    if (line.Has("kept")) {
      stages[stage].kept_bytes = ToBytes(kept[stage], kMebibyte);
    }
  }
  if (!line.Has("memory")) return absl::OkStatus();
  MW_ASSIGN_OR_RETURN(const std::vector<double> memory,
                      Numbers(line, "memory", 0, input.shape.ranks, "devices"));
  for (const double gib : memory) {
    input.costs.memory_bytes.push_back(ToBytes(gib, kGibibyte));
  }
  return absl::OkStatus();
}

absl::Status ReadCosts(const CommandLine& line, SimulateInput& input) {
  const int count = input.shape.stages;
  const auto numbers = [&](const char* flag, double otherwise) {
    return Numbers(line, flag, otherwise, count, "stages");
  };
  MW_ASSIGN_OR_RETURN(const auto forward, numbers("forward", 1));
  MW_ASSIGN_OR_RETURN(const auto input_grad, numbers("input-grad", 1));
  MW_ASSIGN_OR_RETURN(const auto weight_grad, numbers("weight-grad", 1));
  MW_ASSIGN_OR_RETURN(const auto backward, numbers("backward", 0));
  MW_ASSIGN_OR_RETURN(const auto apply, numbers("apply", 0));
  for (StageId stage{0}; stage < count; ++stage) {
    StageCost cost = {.forward = forward[stage],
                      .input_grad = input_grad[stage],
                      .weight_grad = weight_grad[stage]};
    cost.apply = apply[stage];
    if (line.Has("backward")) cost.backward = backward[stage];
    input.costs.stages.push_back(cost);
  }
  input.costs.apply_after_all = line.Has("barrier");
  if (count > 1) {
    MW_ASSIGN_OR_RETURN(const std::vector<double> transfer,
                        Numbers(line, "transfer", 0, count - 1, "neighbours"));
    input.costs.edges = ChainEdges(count);
    for (StageId stage{0}; stage + 1 < count; ++stage) {
      input.costs.edges[stage].forward_seconds = transfer[stage];
      input.costs.edges[stage].backward_seconds = transfer[stage];
    }
  }
  for (const std::string& text : line.All("edge")) {
    MW_ASSIGN_OR_RETURN(const StageEdge edge, ParseEdge(text));
    input.costs.edges.push_back(edge);
  }
  MW_RETURN_IF_ERROR(ReadMemory(line, input));
  return CheckCosts(input.costs, input.shape.stages, input.shape.ranks);
}

absl::Status ReadTimetable(const CommandLine& line, SimulateInput& input) {
  for (const char* flag :
       {"stages", "devices", "chunks", "micro-batches", "schedule"}) {
    if (!line.Has(flag)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--timetable says it all: leave out --", flag));
  }
  const std::string path = line.Text("timetable", "");
  MW_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  absl::StatusOr<Timetable> timetable = ParseCsv(text);
  if (!timetable.ok()) {
    return ExplainContent(timetable.status(), path, text, FileKind::kTimetable);
  }
  input.shape = {.stages = timetable->stages(),
                 .ranks = timetable->ranks(),
                 .micro_batches = timetable->micro_batches,
                 .rank_of_stage = timetable->rank_of_stage};
  input.timetable = *std::move(timetable);
  return Annotate(CheckShape(input.shape), path);
}

absl::Status ReadSchedules(const CommandLine& line, SimulateInput& input) {
  const std::string text = line.Text("schedule", "auto");
  if (text == "all") {
    input.schedules.assign(kNamedSchedules.begin(), kNamedSchedules.end());
    input.schedules.push_back(ScheduleKind::kAuto);
    return absl::OkStatus();
  }
  for (const absl::string_view name : absl::StrSplit(text, ',')) {
    MW_ASSIGN_OR_RETURN(const ScheduleKind kind, ParseScheduleKind(name));
    input.schedules.push_back(kind);
  }
  return absl::OkStatus();
}

// The stages of a plan, with their predictions. Uses its timetable unless
// --schedule requests others.
absl::StatusOr<SimulateInput> ReadPlanInput(const CommandLine& line) {
  for (const FlagSpec& flag : SimulateInputFlags()) {
    if (flag.name == "schedule" || !line.Has(flag.name)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("the plan says it all: leave out --", flag.name));
  }
  const std::string path = line.positional(0);
  MW_ASSIGN_OR_RETURN(const Plan plan, LoadPlan(path));
  if (!plan.pipeline.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": this plan has one stage, so there is nothing to schedule; ",
        "plan --stages N makes one of several"));
  }
  const Timetable& timetable = plan.pipeline->timetable;
  SimulateInput input;
  input.shape = {.stages = timetable.stages(),
                 .ranks = timetable.ranks(),
                 .micro_batches = timetable.micro_batches};
  input.in_bytes = true;
  for (const PlannedPipeline::Stage& stage : plan.pipeline->stages) {
    input.costs.stages.push_back({.forward = stage.forward,
                                  .input_grad = stage.input_grad,
                                  .weight_grad = stage.weight_grad,
                                  .apply = stage.apply,
                                  .held_bytes = stage.held_bytes,
                                  .kept_bytes = stage.kept_bytes});
  }
  const std::vector<int64_t> fixed =
      plan.FixedBytesOfRanks(timetable.rank_of_stage);
  const std::vector<int64_t> usable = plan.MemoryOfRanks();
  for (size_t rank = 0; rank < fixed.size(); ++rank) {
    input.costs.memory_bytes.push_back(
        std::max<int64_t>(0, usable[rank] - fixed[rank]));
  }
  input.costs.apply_after_all = plan.pipeline->apply_after_all;
  for (const PlannedPipeline::Edge& edge : plan.pipeline->edges) {
    input.costs.edges.push_back({edge.from, edge.to, edge.forward_seconds,
                                 edge.backward_seconds, edge.forward_bytes,
                                 edge.backward_bytes});
  }
  if (line.Has("schedule")) {
    MW_RETURN_IF_ERROR(ReadSchedules(line, input));
  } else {
    input.timetable = timetable;
  }
  MW_RETURN_IF_ERROR(Annotate(
      CheckCosts(input.costs, input.shape.stages, input.shape.ranks), path));
  input.plan = plan;
  return input;
}

}  // namespace

std::vector<FlagSpec> SimulateInputFlags() {
  return {
      {"stages", "S", "of the pipeline (default: devices times chunks)"},
      {"devices", "P", "groups of devices (default: one per stage)"},
      {"chunks", "V", "stages per device (default 1)"},
      {"micro-batches", "M", "that pass through in a step"},
      {"schedule", "NAME",
       "gpipe, 1f1b, interleaved, breadth-first, zero-bubble, zero-bubble-v "
       "or auto (default); several with commas, or all, are compared"},
      {"timetable", "FILE.csv",
       "this timetable: a line per device, cells such as 2F0"},
      {"forward", "SEC,..", "of each stage, or one for all (default 1)"},
      {"input-grad", "SEC,..", "gradients by inputs (default 1)"},
      {"weight-grad", "SEC,..", "gradients by weights (default 1)"},
      {"backward", "SEC,..", "both in one (default: their sum)"},
      {"apply", "SEC,..", "once per step (default 0)"},
      {"barrier", "", "apply only when all gradients are there"},
      {"transfer", "SEC,..", "to the next stage and back (default 0)"},
      {"edge", "A:B=SEC", "values also go from stage A to B; repeatable"},
      {"activations", "MIB,..", "that a stage keeps for a micro-batch"},
      {"kept", "MIB,..", "of them between the two gradients (default: all)"},
      {"memory", "GIB,..", "that a device may hold"}};
}

absl::StatusOr<SimulateInput> ReadSimulateInput(const CommandLine& line) {
  if (line.positional_count() > 0) {
    return ReadPlanInput(line);
  }
  SimulateInput input;
  if (line.Has("timetable")) {
    MW_RETURN_IF_ERROR(ReadTimetable(line, input));
  } else {
    MW_ASSIGN_OR_RETURN(input.shape, ReadShape(line));
    MW_RETURN_IF_ERROR(ReadSchedules(line, input));
  }
  MW_RETURN_IF_ERROR(ReadCosts(line, input));
  return input;
}

}  // namespace meshwright
