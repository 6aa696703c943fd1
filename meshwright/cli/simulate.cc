// meshwright simulate: simulates the timetable of a pipeline.
#include "meshwright/schedule/simulate.h"

#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/file.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/base/terminal.h"
#include "meshwright/base/units.h"
#include "meshwright/cli/commands.h"
#include "meshwright/cli/host_memory.h"
#include "meshwright/cli/simulate_input.h"
#include "meshwright/schedule/generate.h"
#include "meshwright/schedule/generate_auto.h"
#include "meshwright/schedule/grid.h"
#include "meshwright/schedule/insert_transfers.h"
#include "meshwright/schedule/lower_bound.h"
#include "meshwright/schedule/trace.h"
#include "meshwright/schedule/validate.h"

namespace meshwright {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kColumnsOfFiles = 100;

const CommandSpec& SimulateSpec() {
  static const auto* const spec = [] {
    auto* made = new CommandSpec{
        .name = "simulate",
        .summary = "what a pipeline's timetable takes: time, bubbles, memory",
        .positional = {"[PLAN]"},
        .flags = SimulateInputFlags()};
    for (const FlagSpec& flag : std::vector<FlagSpec>{
             {"transfers", "", "put sends and receives into the timetable"},
             {"csv", "FILE", "write the timetable here", FileUse::kWritten},
             {"trace", "FILE", "write a trace for ui.perfetto.dev here",
              FileUse::kWritten},
             {"columns", "N", "of the drawing (default: the terminal's)"},
             {"json", "", "one JSON object on stdout"}}) {
      made->flags.push_back(flag);
    }
    return made;
  }();
  return *spec;
}

// One schedule, simulated.
struct Outcome {
  std::string name;
  Timetable timetable;
  Simulation run;
  double lower_bound = 0;
};

absl::StatusOr<Outcome> Finish(std::string name, Timetable timetable,
                               const SimulateInput& input, bool transfers) {
  if (transfers) {
    MW_ASSIGN_OR_RETURN(timetable, InsertTransfers(timetable, input.costs));
  }
  MW_RETURN_IF_ERROR(Validate(timetable, input.costs));
  MW_ASSIGN_OR_RETURN(Simulation run, Simulate(timetable, input.costs));
  if (input.plan.has_value()) {
    // A rank's fixed memory, in addition to that of micro-batches.
    const std::vector<int64_t> fixed =
        input.plan->FixedBytesOfRanks(timetable.rank_of_stage);
    for (size_t i = 0; i < fixed.size(); ++i) run.peak_bytes[i] += fixed[i];
  }
  const double bound =
      StepLowerBound(timetable.rank_of_stage, timetable.ranks(),
                     timetable.micro_batches, input.costs);
  return Outcome{std::move(name), std::move(timetable), std::move(run), bound};
}

absl::StatusOr<Outcome> Make(const SimulateInput& input, ScheduleKind kind,
                             bool transfers) {
  MW_ASSIGN_OR_RETURN(Timetable timetable,
                      MakeTimetable(input.shape, kind, input.costs));
  return Finish(std::string(ToString(kind)), std::move(timetable), input,
                transfers);
}

std::string Held(const SimulateInput& input, int64_t bytes) {
  return input.in_bytes ? FormatBytes(bytes) : absl::StrCat(bytes);
}

// What executes one action at a time: for a plan, a group of devices.
const char* Unit(const SimulateInput& input) {
  return input.plan.has_value() ? "rank" : "device";
}

std::string ShapeText(const SimulateInput& input) {
  const PipelineShape& shape = input.shape;
  return absl::StrCat(Counted(shape.stages, "stage"), " on ",
                      Counted(shape.ranks, Unit(input)), ", ",
                      Counted(shape.micro_batches, "micro-batch"));
}

void Print(const Outcome& outcome, const SimulateInput& input, int columns) {
  absl::PrintF("%s: %s\n\n", outcome.name, ShapeText(input));
  absl::PrintF("%s\n", DrawGrid(outcome.run, outcome.timetable.rank_of_stage,
                                {.columns = columns,
                                 .colour = ShowsColours(STDOUT_FILENO)}));
  absl::PrintF("step %s, %.1f %% of it bubbles; no order takes less than %s\n",
               FormatSeconds(outcome.run.step_seconds),
               100 * outcome.run.bubble_share,
               FormatSeconds(outcome.lower_bound));
  const auto stages =
      StagesByRank(outcome.timetable.rank_of_stage, input.shape.ranks);
  for (int rank = 0; rank < input.shape.ranks; ++rank) {
    absl::PrintF("%s %-3d stage%s %-12s busy %-8s %s %s\n", Unit(input), rank,
                 stages[rank].size() == 1 ? " " : "s",
                 absl::StrJoin(stages[rank], " "),
                 FormatSeconds(outcome.run.busy_seconds[rank]),
                 input.in_bytes ? "peak" : "micro-batches held",
                 Held(input, outcome.run.peak_bytes[rank]));
  }
}

// Prints an array element by element: there may be millions.
class ArrayPrinter {
 public:
  explicit ArrayPrinter(absl::string_view name) {
    absl::PrintF(",\"%s\":[", name);
  }
  ~ArrayPrinter() { absl::PrintF("]"); }

  void Add(const Json& element) {
    absl::PrintF("%s%s", is_first_ ? "" : ",", element.dump());
    is_first_ = false;
  }

 private:
  bool is_first_ = true;
};

void PrintJson(const Outcome& outcome, const SimulateInput& input) {
  const Simulation& run = outcome.run;
  const Json json = {
      {"schedule", outcome.name},
      {"stages", input.shape.stages},
      {"devices", input.shape.ranks},
      {"micro_batches", input.shape.micro_batches},
      {"step_seconds", run.step_seconds},
      {"bubble_share", run.bubble_share},
      {"lower_bound", outcome.lower_bound},
      {input.in_bytes ? "peak_bytes" : "peak_held", run.peak_bytes},
      {"busy_seconds", run.busy_seconds},
      {"device_of_stage", outcome.timetable.rank_of_stage}};
  const std::string head = json.dump();
  absl::PrintF("%s", head.substr(0, head.size() - 1));
  {
    ArrayPrinter timetable("timetable");
    for (const std::vector<Action>& row : outcome.timetable.rows) {
      Json cells = Json::array();
      for (const Action& action : row) cells.push_back(ToString(action));
      timetable.Add(cells);
    }
  }
  {
    ArrayPrinter actions("actions");
    for (size_t rank = 0; rank < run.rows.size(); ++rank) {
      for (const TimedAction& timed : run.rows[rank]) {
        actions.Add({{"device", rank},
                     {"action", ToString(timed.action)},
                     {"begin", timed.begin},
                     {"end", timed.end}});
      }
    }
  }
  {
    ArrayPrinter transfers("transfers");
    for (const TimedTransfer& transfer : run.transfers) {
      transfers.Add({{"from", transfer.from_rank},
                     {"to", transfer.to_rank},
                     {"action", ToString(transfer.send)},
                     {"begin", transfer.begin},
                     {"end", transfer.end}});
    }
  }
  absl::PrintF("}\n");
}

// Prints one line per schedule; for impossible ones, the reason.
absl::Status Compare(const SimulateInput& input, const CommandLine& line) {
  for (const char* flag : {"csv", "trace"}) {
    if (!line.Has(flag)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--", flag, " is for one schedule"));
  }
  Json rows = Json::array();
  if (!line.Has("json")) absl::PrintF("%s\n", ShapeText(input));
  for (const ScheduleKind kind : input.schedules) {
    const auto outcome = Make(input, kind, line.Has("transfers"));
    if (!outcome.ok()) {
      rows.push_back({{"schedule", ToString(kind)},
                      {"why_not", outcome.status().message()}});
    } else {
      const Simulation& run = outcome->run;
      rows.push_back({{"schedule", ToString(kind)},
                      {"step_seconds", run.step_seconds},
                      {"bubble_share", run.bubble_share},
                      {input.in_bytes ? "peak_bytes" : "peak_held",
                       std::ranges::max(run.peak_bytes)}});
    }
    if (line.Has("json")) continue;
    absl::PrintF("  %-14s ", ToString(kind));
    if (!outcome.ok()) {
      absl::PrintF("%s\n", outcome.status().message());
      continue;
    }
    absl::PrintF("step %-8s  bubbles %4.1f %%  %s %s\n",
                 FormatSeconds(outcome->run.step_seconds),
                 100 * outcome->run.bubble_share,
                 input.in_bytes ? "peak" : "held",
                 Held(input, std::ranges::max(outcome->run.peak_bytes)));
  }
  if (line.Has("json")) {
    absl::PrintF("%s\n", Json{{"schedules", rows}}.dump());
  }
  return absl::OkStatus();
}

// Memory to simulate a forward and its backward, and to print them.
constexpr int64_t kSimulatedBytes = 400;
constexpr int64_t kJsonBytes = 200;
constexpr int64_t kTraceBytes = 1000;

absl::Status CheckMemory(const PipelineShape& shape, const CommandLine& line) {
  const int64_t each = kSimulatedBytes + (line.Has("json") ? kJsonBytes : 0) +
                       (line.Has("trace") ? kTraceBytes : 0);
  return CheckFits(each * shape.stages * shape.micro_batches,
                   absl::StrCat(shape.stages, " stages times ",
                                shape.micro_batches, " micro-batches take"));
}

absl::Status RunSimulate(const CommandLine& line) {
  MW_ASSIGN_OR_RETURN(const SimulateInput input, ReadSimulateInput(line));
  MW_RETURN_IF_ERROR(CheckMemory(input.shape, line));
  const int columns_here =
      TerminalColumns(STDOUT_FILENO).value_or(kColumnsOfFiles);
  MW_ASSIGN_OR_RETURN(const int64_t columns,
                      line.Integer("columns", columns_here, {40, 100000}));
  if (input.schedules.size() > 1) return Compare(input, line);
  const auto outcome =
      input.timetable.has_value()
          ? Finish("timetable", *input.timetable, input, line.Has("transfers"))
          : Make(input, input.schedules[0], line.Has("transfers"));
  if (!outcome.ok()) {
    return input.timetable.has_value()
               ? Annotate(outcome.status(), line.Text("timetable", ""))
               : outcome.status();
  }
  if (line.Has("csv")) {
    MW_RETURN_IF_ERROR(WriteFileAtomically(
        line.Text("csv", ""), outcome->timetable.has_transfers()
                                  ? ToCsv(outcome->timetable)
                                  : ToAlignedCsv(outcome->timetable)));
  }
  if (line.Has("trace")) {
    MW_RETURN_IF_ERROR(WriteFileAtomically(
        line.Text("trace", ""),
        ToTrace({{absl::StrCat("simulated ", outcome->name), &outcome->run}})));
  }
  if (line.Has("json")) {
    PrintJson(*outcome, input);
  } else {
    Print(*outcome, input, static_cast<int>(columns));
  }
  return absl::OkStatus();
}

}  // namespace

extern const Command kSimulateCommand = {&SimulateSpec, &RunSimulate};

}  // namespace meshwright
