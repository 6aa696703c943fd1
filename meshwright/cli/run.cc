// meshwright run: runs steps of a module on one device, or on several according
// to a plan; the state stays on the devices.
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "meshwright/analysis/roles.h"
#include "meshwright/api/file_kind.h"
#include "meshwright/api/load_step.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/file.h"
#include "meshwright/base/median.h"
#include "meshwright/base/process_end.h"
#include "meshwright/base/progress.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/base/stopwatch.h"
#include "meshwright/base/units.h"
#include "meshwright/cli/cache_flag.h"
#include "meshwright/cli/commands.h"
#include "meshwright/cli/data_ahead.h"
#include "meshwright/cli/ffi_flag.h"
#include "meshwright/cli/host_memory.h"
#include "meshwright/cli/load_module.h"
#include "meshwright/cli/report_peak.h"
#include "meshwright/cli/run_checkpoints.h"
#include "meshwright/cli/run_site.h"
#include "meshwright/cli/served_site.h"
#include "meshwright/cli/split_module.h"
#include "meshwright/cli/stage_module.h"
#include "meshwright/data/dataset.h"
#include "meshwright/data/dataset_spec.h"
#include "meshwright/runtime/collective_options.h"
#include "meshwright/state/tensor_file.h"

namespace meshwright {
namespace {

using Json = nlohmann::ordered_json;

const CommandSpec& RunSpec() {
  static const auto* const spec = [] {
    auto* made = new CommandSpec{
        .name = "run",
        .summary = "run steps of a module on synthetic or given inputs",
        .positional = {"MODULE"},
        .flags = {
            {"steps", "K", "how many steps (default 10)"},
            {"seed", "S", "of the synthetic inputs (default 0)"},
            {"inputs", "FILE",
             ".npz or .safetensors with values of parameters, by name; "
             "repeatable",
             FileUse::kReadBefore},
            {"init", "FILE",
             "a module that computes the state, each shard where it lives, of "
             "those --inputs that have its parameters' names, else of "
             "synthetic "
             "values",
             FileUse::kReadBefore},
            {"data", "FILE",
             "values for one step; the k-th --data is for step k, then again; "
             "or a dataset, JSON, that is read where the steps run"},
            {"position", "N",
             "of the dataset: samples consumed before (default 0)"},
            {"trace", "FILE",
             "with stages: what ran when in the last step, and as simulated, "
             "for ui.perfetto.dev",
             FileUse::kWritten},
            {"save", "FILE",
             "write the state after the last step, .safetensors",
             FileUse::kWritten},
            {"workers", "W", "in that many worker processes on this machine"},
            {"metrics", "FILE", "write a line of JSON per step here; appended",
             FileUse::kWritten},
            {"platform", "NAME",
             "cpu, cuda, tpu (default: what the plan is for, or the fastest "
             "there)"},
            FfiFlag(),
            CacheFlag(),
            {"json", "", "one JSON object on stdout"}}};
    const std::vector<FlagSpec> split = SplitFlags();
    made->flags.insert(made->flags.begin(), split.begin(), split.end());
    const std::vector<FlagSpec> stages = StageFlags();
    made->flags.insert(made->flags.end() - 1, stages.begin(), stages.end());
    const std::vector<FlagSpec> saved = RunCheckpoints::Flags();
    made->flags.insert(made->flags.end() - 1, saved.begin(), saved.end());
    const std::vector<FlagSpec> served = ServedSite::Flags();
    made->flags.insert(made->flags.end() - 1, served.begin(), served.end());
    return made;
  }();
  return *spec;
}

struct RunLog {
  std::vector<double> seconds;
  std::vector<double> simulated;  // The steps of a pipeline, simulated.
  std::vector<double> losses;
  int64_t first = 0;  // The number of the first step.
};

absl::StatusOr<std::vector<std::vector<Tensor>>> ReadAll(
    const std::vector<std::string>& paths) {
  std::vector<std::vector<Tensor>> files;
  for (const std::string& path : paths) {
    MW_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
    absl::StatusOr<std::vector<Tensor>> tensors = ParseTensors(bytes);
    if (!tensors.ok()) {
      return ExplainContent(tensors.status(), path, bytes, FileKind::kTensors);
    }
    files.push_back(*std::move(tensors));
  }
  return files;
}

// The data of steps: tensors for each step, or a dataset.
struct RunData {
  std::vector<std::vector<Tensor>> steps;
  std::string dataset;  // JSON, with absolute paths.
  int64_t position = 0;
};

// JSON begins with a brace, and safetensors files do not.
bool IsJson(absl::string_view bytes) {
  return absl::StartsWith(absl::StripLeadingAsciiWhitespace(bytes), "{");
}

absl::StatusOr<RunData> ReadData(const CommandLine& line) {
  RunData data;
  MW_ASSIGN_OR_RETURN(data.position,
                      line.Integer("position", 0, {0, INT64_MAX}));
  const std::vector<std::string>& paths = line.All("data");
  if (paths.size() == 1) {
    MW_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(paths[0]));
    if (IsJson(bytes)) {
      absl::StatusOr<DatasetSpec> spec = ParseDatasetSpec(bytes);
      if (!spec.ok()) {
        return ExplainContent(spec.status(), paths[0], bytes,
                              FileKind::kDataset);
      }
      ResolvePaths(std::filesystem::absolute(paths[0]).parent_path().string(),
                   *spec);
      data.dataset = ToJson(*spec);
      return data;
    }
  }
  if (line.Has("position")) {
    return absl::InvalidArgumentError(
        "--position is of a dataset; give one with --data");
  }
  MW_ASSIGN_OR_RETURN(data.steps, ReadAll(paths));
  return data;
}

// Finds errors in the dataset's files before anything is compiled. Requires
// that steps run on this machine.
absl::Status CheckDataset(const Module& module, const std::string& dataset) {
  MW_ASSIGN_OR_RETURN(const DatasetSpec spec, ParseDatasetSpec(dataset));
  const ModuleRoles roles = AnalyzeRoles(module);
  std::map<std::string, Shape> shapes;
  for (const Instruction* parameter : module.entry()->Parameters()) {
    const ParameterInfo& info =
        roles.parameters[parameter->attributes->parameter_number];
    if (info.role == ParameterRole::kState) continue;
    shapes[info.name] = parameter->shape;
  }
  for (const auto& [name, field] : spec.parameters) {
    // Feed reports the error.
    if (!shapes.contains(name)) return absl::OkStatus();
  }
  return Dataset::Open(spec, std::move(shapes)).status();
}

absl::StatusOr<RunLog> RunSteps(int64_t first, int64_t steps,
                                const std::vector<std::vector<Tensor>>& data,
                                bool print_each, const JobRunner* pipeline,
                                RunCheckpoints& checkpoints, Runner* runner) {
  RunLog log{.first = first};
  Progress progress("running", std::max<int64_t>(0, steps - first));
  // As many steps at a time as take about half a second, unless data have to be
  // sent or results fetched in between.
  int64_t at_once = 1;
  DataAhead ahead(data, first, steps, runner);
  while (first + std::ssize(log.seconds) < steps) {
    const int64_t step = first + std::ssize(log.seconds);
    const int64_t count =
        std::min({at_once, steps - step, checkpoints.StepsUntilSave(step)});
    const Stopwatch time;
    MW_RETURN_IF_ERROR(ahead.Give(step));
    MW_ASSIGN_OR_RETURN(const std::vector<StepResult> results,
                        ahead.Run(count, step + count));
    if (pipeline != nullptr) {
      MW_ASSIGN_OR_RETURN(const Simulation simulated,
                          SimulateLastStep(*pipeline));
      log.simulated.push_back(simulated.step_seconds);
    } else if (data.empty() && count == at_once && time.seconds() < 0.25) {
      at_once *= 2;
    }
    for (const StepResult& result : results) {
      const std::string loss =
          result.loss ? absl::StrFormat("loss %.6f", *result.loss) : "";
      if (print_each) {
        absl::PrintF("step %-4d %-16s %s\n", first + std::ssize(log.seconds),
                     loss, FormatSeconds(result.seconds));
      }
      log.seconds.push_back(result.seconds);
      if (result.loss.has_value()) log.losses.push_back(*result.loss);
      progress.Advance(loss);
    }
    checkpoints.AfterSteps(first + std::ssize(log.seconds), *runner);
  }
  return log;
}

// What XLA is asked for beyond its defaults, for programs of several devices.
std::string OptionsOf(const RunSite& site) {
  return site.devices > 1 ? ToFlags(CollectiveOptions(site.platform)) : "";
}

Json ToJson(const RunLog& log, const Running& running) {
  const RunSite& site = running.site;
  Json json = {{"platform", site.platform},
               {"device", site.device_kind},
               {"devices", site.devices},
               {"workers", site.worker_count},
               {"compile_seconds", running.compile_seconds},
               {"programs_cached", nullptr},
               {"programs_compiled", nullptr},
               {"step_seconds", log.seconds},
               {"loss", log.losses}};
  json["xla_options"] = OptionsOf(site);
  if (site.cache != nullptr) {
    json["programs_cached"] = site.cache->hits();
    json["programs_compiled"] = site.cache->compiled();
  }
  if (log.first > 0) json["first_step"] = log.first;
  if (!log.simulated.empty()) json["simulated_seconds"] = log.simulated;
  if (const auto position = running.runner->position()) {
    json["position"] = *position;
  }
  return json;
}

void PrintSummary(const RunLog& log, const Running& running) {
  const RunSite& site = running.site;
  if (log.seconds.empty()) {
    absl::PrintF("all steps were run before: step %d is the last\n",
                 log.first - 1);
    return;
  }
  absl::PrintF("%s on %s%s%s, median %s; compiled in %s\n",
               Counted(std::ssize(log.seconds), "step"),
               site.devices == 1 ? "" : absl::StrCat(site.devices, " x "),
               site.device_kind,
               site.worker_count == 0
                   ? ""
                   : absl::StrCat(" of ", Counted(site.worker_count, "worker")),
               FormatSeconds(Median(log.seconds)),
               FormatSeconds(running.compile_seconds));
  if (!log.simulated.empty()) {
    absl::PrintF("simulated with the durations of its programs: %s\n",
                 FormatSeconds(Median(log.simulated)));
  }
  if (const std::string options = OptionsOf(site); !options.empty()) {
    absl::PrintF("XLA options: %s (XLA_FLAGS takes precedence)\n", options);
  }
  if (const auto position = running.runner->position()) {
    absl::PrintF("the dataset goes on at --position %d\n", *position);
  }
}

// Takes the values of the function's parameters from `inputs`.
absl::Status Initialize(const std::string& path, uint64_t seed,
                        std::vector<std::vector<Tensor>>& inputs,
                        Runner& runner) {
  MW_ASSIGN_OR_RETURN(const Module init, LoadStep(path));
  const ModuleRoles roles = AnalyzeRoles(init);
  const auto is_own = [&](const Tensor& tensor) {
    return std::ranges::count(roles.parameters, tensor.name,
                              &ParameterInfo::name) > 0 &&
           !std::ranges::count(runner.roles().parameters, tensor.name,
                               &ParameterInfo::name);
  };
  std::vector<Tensor> arguments;
  for (std::vector<Tensor>& file : inputs) {
    const auto own = std::ranges::stable_partition(
        file, [&](const Tensor& one) { return !is_own(one); });
    std::ranges::move(own, std::back_inserter(arguments));
    file.erase(own.begin(), own.end());
  }
  return Annotate(runner.Init(init, std::move(arguments), seed), path);
}

absl::Status RunIn(const Module& module, const CommandLine& line,
                   Running& running) {
  MW_ASSIGN_OR_RETURN(const int64_t steps,
                      line.Integer("steps", 10, {1, 1'000'000'000}));
  MW_ASSIGN_OR_RETURN(const int64_t seed,
                      line.Integer("seed", 0, {0, INT64_MAX}));
  const bool json = line.Has("json");
  MW_ASSIGN_OR_RETURN(RunCheckpoints checkpoints, RunCheckpoints::From(line));
  MW_ASSIGN_OR_RETURN(auto inputs, ReadAll(line.All("inputs")));
  MW_ASSIGN_OR_RETURN(const RunData data, ReadData(line));
  MW_RETURN_IF_ERROR(CheckParametersFit(module));
  if (!data.dataset.empty() && !line.Has("serve-at")) {
    MW_RETURN_IF_ERROR(CheckDataset(module, data.dataset));
  }
  MW_RETURN_IF_ERROR(StartRunning(module, line, running));
  Runner& runner = *running.runner;
  MW_RETURN_IF_ERROR(runner.FillSynthetic(seed));
  if (line.Has("init")) {
    MW_RETURN_IF_ERROR(Initialize(line.Text("init", ""), seed, inputs, runner));
  }
  for (std::vector<Tensor>& file : inputs) {
    MW_RETURN_IF_ERROR(runner.Set(std::move(file)));
  }
  MW_ASSIGN_OR_RETURN(const int64_t first, checkpoints.Resume(runner));
  if (!data.dataset.empty()) {
    MW_RETURN_IF_ERROR(runner.Feed(
        data.dataset, checkpoints.position().value_or(data.position)));
  }
  MW_ASSIGN_OR_RETURN(const RunLog log,
                      RunSteps(first, steps, data.steps, !json,
                               running.pipeline, checkpoints, &runner));
  const absl::Status saved =
      checkpoints.Finish(first + std::ssize(log.seconds), runner);
  if (line.Has("trace")) {
    MW_RETURN_IF_ERROR(
        WriteStagedTrace(line.Text("trace", ""), *running.pipeline));
  }
  if (line.Has("save")) {
    MW_ASSIGN_OR_RETURN(const std::vector<Tensor> state, runner.ReadState());
    MW_RETURN_IF_ERROR(WriteSafetensors(line.Text("save", ""), state));
  }
  if (json) {
    Json report = ToJson(log, running);
    std::optional<PeakMemory> peak;
    if (running.job != nullptr) {
      MW_ASSIGN_OR_RETURN(peak, running.job->FindPeak());
    }
    MW_RETURN_IF_ERROR(AddPeaks(line, peak, report));
    absl::PrintF("%s\n", report.dump(2));
  } else {
    PrintSummary(log, running);
  }
  MW_RETURN_IF_ERROR(saved);
  return running.metrics != nullptr ? running.metrics->status()
                                    : absl::OkStatus();
}

absl::Status RunStep(const CommandLine& line) {
  MW_RETURN_IF_ERROR(LoadFfiLibraries(line));
  MW_ASSIGN_OR_RETURN(const Module module, LoadStep(line.positional(0), line));
  int signal = 0;
  absl::Status status;
  {
    Running running;
    status = RunIn(module, line, running);
    if (running.served != nullptr) signal = running.served->signal();
  }
  // The job was stopped before.
  if (signal != 0) EndBySignal(signal);
  return status;
}

}  // namespace

extern const Command kRunCommand = {&RunSpec, &RunStep};

}  // namespace meshwright
