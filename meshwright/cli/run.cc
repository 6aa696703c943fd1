// meshwright run: steps of a module on a device, or on several as a plan says;
// state stays there.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "meshwright/api/file_kind.h"
#include "meshwright/api/planned_runner.h"
#include "meshwright/base/file.h"
#include "meshwright/base/median.h"
#include "meshwright/base/progress.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/base/stopwatch.h"
#include "meshwright/base/units.h"
#include "meshwright/cli/commands.h"
#include "meshwright/cli/host_memory.h"
#include "meshwright/cli/load_module.h"
#include "meshwright/cli/split_module.h"
#include "meshwright/cli/stage_module.h"
#include "meshwright/service/local_workers.h"
#include "meshwright/state/tensor_file.h"

namespace meshwright {
namespace {

using Json = nlohmann::ordered_json;

const CommandSpec& Spec() {
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
            {"data", "FILE",
             "values for one step; the k-th --data is for step k, then again"},
            {"trace", "FILE",
             "with stages: what ran when in the last step, and as simulated, "
             "for ui.perfetto.dev",
             FileUse::kWritten},
            {"save", "FILE",
             "write the state after the last step, .safetensors",
             FileUse::kWritten},
            {"workers", "W", "in that many worker processes on this machine"},
            {"platform", "NAME",
             "cpu, cuda, tpu (default: what the plan is for, or the fastest "
             "there)"},
            {"json", "", "one JSON object on stdout"}}};
    const std::vector<FlagSpec> split = SplitFlags();
    made->flags.insert(made->flags.begin(), split.begin(), split.end());
    const std::vector<FlagSpec> stages = StageFlags();
    made->flags.insert(made->flags.end() - 1, stages.begin(), stages.end());
    return made;
  }();
  return *spec;
}

struct RunLog {
  std::vector<double> seconds;
  std::vector<double> simulated;  // Of stages: the same steps.
  std::vector<double> losses;
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

absl::StatusOr<RunLog> RunSteps(int64_t steps,
                                const std::vector<std::vector<Tensor>>& data,
                                bool print_each, const JobRunner* pipeline,
                                Runner* runner) {
  RunLog log;
  Progress progress("running", steps);
  // As many at a time as take about half a second, where nothing has to be
  // given or asked for in between.
  int64_t at_once = 1;
  while (std::ssize(log.seconds) < steps) {
    const int64_t step = std::ssize(log.seconds);
    if (!data.empty()) {
      MW_RETURN_IF_ERROR(runner->Set(data[step % data.size()]));
    }
    const Stopwatch time;
    MW_ASSIGN_OR_RETURN(const std::vector<StepResult> results,
                        runner->Steps(std::min(at_once, steps - step)));
    if (pipeline != nullptr) {
      MW_ASSIGN_OR_RETURN(const Simulation simulated,
                          SimulateLastStep(*pipeline));
      log.simulated.push_back(simulated.step_seconds);
    } else if (data.empty() && time.seconds() < 0.25) {
      at_once *= 2;
    }
    for (const StepResult& result : results) {
      const std::string loss =
          result.loss ? absl::StrFormat("loss %.6f", *result.loss) : "";
      if (print_each) {
        absl::PrintF("step %-4d %-16s %s\n", std::ssize(log.seconds), loss,
                     FormatSeconds(result.seconds));
      }
      log.seconds.push_back(result.seconds);
      if (result.loss.has_value()) log.losses.push_back(*result.loss);
      progress.Advance(loss);
    }
  }
  return log;
}

// What the steps run on.
struct Site {
  std::unique_ptr<Client> client;  // Null with workers.
  std::unique_ptr<LocalWorkers> workers;
  int worker_count = 0;  // 0: none but this process.
  int64_t devices = 1;
  std::string platform;
  std::string device_kind;

  Where where() const {
    if (client != nullptr) return client.get();
    return &workers->coordinator();
  }
};

absl::StatusOr<Site> MakeSite(const CommandLine& line, int64_t devices) {
  MW_ASSIGN_OR_RETURN(const int64_t workers,
                      line.Integer("workers", 0, {1, 4096}));
  MW_ASSIGN_OR_RETURN(const std::string platform, PlatformFor(line));
  Site site{.worker_count = static_cast<int>(workers), .devices = devices};
  if (workers == 0) {
    MW_ASSIGN_OR_RETURN(site.client, MakeClientFor(platform, devices));
    site.platform = site.client->platform_name();
    site.device_kind = site.client->devices()[0]->kind();
    return site;
  }
  if (workers > devices) {
    return absl::InvalidArgumentError(
        absl::StrCat("--workers ", workers, ": the step is for ",
                     Counted(devices, "device"), ", so some would have none"));
  }
  MW_ASSIGN_OR_RETURN(
      site.workers,
      LocalWorkers::Start({.count = site.worker_count,
                           .devices = (devices + workers - 1) / workers,
                           .platform = platform}));
  const proto::Hello& hello = site.workers->coordinator().workers()[0]->hello();
  site.platform = hello.platform();
  site.device_kind = hello.device_kind();
  return site;
}

Json ToJson(const RunLog& log, double compile_seconds, const Site& site) {
  Json json = {{"platform", site.platform},
               {"device", site.device_kind},
               {"devices", site.devices},
               {"workers", site.worker_count},
               {"compile_seconds", compile_seconds},
               {"step_seconds", log.seconds},
               {"loss", log.losses}};
  if (!log.simulated.empty()) json["simulated_seconds"] = log.simulated;
  return json;
}

absl::Status Run(const CommandLine& line) {
  MW_ASSIGN_OR_RETURN(const int64_t steps,
                      line.Integer("steps", 10, {1, 1'000'000'000}));
  MW_ASSIGN_OR_RETURN(const int64_t seed,
                      line.Integer("seed", 0, {0, INT64_MAX}));
  const bool json = line.Has("json");
  MW_ASSIGN_OR_RETURN(const Module module, LoadStep(line.positional(0), line));
  MW_ASSIGN_OR_RETURN(auto inputs, ReadAll(line.All("inputs")));
  MW_ASSIGN_OR_RETURN(const auto data, ReadAll(line.All("data")));
  MW_RETURN_IF_ERROR(CheckParametersFit(module));
  std::optional<Partitioned> split;
  MW_ASSIGN_OR_RETURN(std::optional<StagedModule> staged,
                      StageModule(module, line));
  if (line.Has("trace") && !staged.has_value()) {
    return absl::InvalidArgumentError(
        "--trace needs --stages, or a plan with stages");
  }
  if (staged.has_value()) {
    // Split already.
  } else if (line.Has("plan") || line.Has("sharding") || line.Has("mesh")) {
    MW_ASSIGN_OR_RETURN(split, SplitModule(module, AnalyzeRoles(module), line));
  }
  const int64_t devices = staged.has_value()  ? staged->device_count()
                          : split.has_value() ? split->mesh.device_count()
                                              : 1;
  MW_ASSIGN_OR_RETURN(const Site site, MakeSite(line, devices));
  const Stopwatch compile_time;
  std::optional<Progress> progress(std::in_place, "compiling");
  std::unique_ptr<Runner> runner;
  if (staged.has_value()) {
    MW_ASSIGN_OR_RETURN(runner, MakeRunner(module, *staged, site.where()));
  } else {
    MW_ASSIGN_OR_RETURN(runner, split.has_value()
                                    ? MakeRunner(module, *split, site.where())
                                    : MakeRunner(module, site.where()));
  }
  const JobRunner* const pipeline =
      staged.has_value()
          ? &static_cast<const PipelineRunner&>(*runner).pipeline()
          : nullptr;
  const double compile_seconds = compile_time.seconds();
  progress.reset();
  MW_RETURN_IF_ERROR(runner->FillSynthetic(seed));
  for (std::vector<Tensor>& file : inputs) {
    MW_RETURN_IF_ERROR(runner->Set(std::move(file)));
  }
  MW_ASSIGN_OR_RETURN(const RunLog log,
                      RunSteps(steps, data, !json, pipeline, runner.get()));
  if (line.Has("trace")) {
    MW_RETURN_IF_ERROR(WriteStagedTrace(line.Text("trace", ""), *pipeline));
  }
  if (line.Has("save")) {
    MW_ASSIGN_OR_RETURN(const std::vector<Tensor> state, runner->ReadState());
    MW_RETURN_IF_ERROR(WriteSafetensors(line.Text("save", ""), state));
  }
  if (json) {
    absl::PrintF("%s\n", ToJson(log, compile_seconds, site).dump(2));
  } else {
    absl::PrintF(
        "%s on %s%s%s, median %s; compiled in %s\n", Counted(steps, "step"),
        devices == 1 ? "" : absl::StrCat(devices, " x "), site.device_kind,
        site.worker_count == 0
            ? ""
            : absl::StrCat(" of ", Counted(site.worker_count, "worker")),
        FormatSeconds(Median(log.seconds)), FormatSeconds(compile_seconds));
    if (!log.simulated.empty()) {
      absl::PrintF("simulated with the durations of its programs: %s\n",
                   FormatSeconds(Median(log.simulated)));
    }
  }
  return absl::OkStatus();
}

}  // namespace

extern const Command kRunCommand = {&Spec, &Run};

}  // namespace meshwright
