// meshwright scale: the predicted performance of a step with increasing numbers
// of devices.
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "meshwright/api/load_cluster.h"
#include "meshwright/api/scaling.h"
#include "meshwright/api/scaling_text.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/file.h"
#include "meshwright/base/progress.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/cli/commands.h"
#include "meshwright/cli/dump_plan.h"
#include "meshwright/cli/load_module.h"

namespace meshwright {
namespace {

const CommandSpec& ScaleSpec() {
  static const auto* const spec = new CommandSpec{
      .name = "scale",
      .summary = "what a step is predicted to achieve on more and more devices",
      .positional = {"MODULE"},
      .flags = {
          {"cluster", "C",
           "the largest: a cluster file, or h200:2048x8 (hosts x devices)"},
          {"devices", "N,N",
           "how many of its devices (default: from one host to all, four times "
           "as many each)"},
          {"other-batch", "MODULE",
           "the same step with another batch; may be repeated. At every size "
           "the one is planned whose samples for each device are nearest to "
           "those of MODULE at the first: weak scaling"},
          {"mtbf", "HOURS",
           "between failures of one device, its share of the host's among "
           "them (default 50000)"},
          {"checkpoint-interval", "S",
           "seconds of steps between checkpoints (default: the best)"},
          {"save-bandwidth", "GB/S",
           "at which each host saves and reads checkpoints, 10^9 bytes a "
           "second (default 2)"},
          {"restart", "S",
           "seconds from a failure to when the state is read (default 300)"},
          {"strategy", "NAME", "as of plan (default auto)"},
          {"recompute", "WHAT", "as of plan (default auto)"},
          {"memory", "GIB", "what a device may use (default: 92 % of it)"},
          RulesFlag(),
          RequireRulesFlag(),
          {"database", "FILE", "calibrated rates (default: the user's cache)"},
          {"assumed", "", "do not use calibrated rates"},
          {"time-limit", "S", "seconds for each plan (default 60)"},
          {"output", "DIR",
           "write the plans into this folder (also -o): 512.json is the one "
           "for 512 devices"},
          {"svg", "FILE", "write a drawing of the curves here",
           FileUse::kWritten},
          {"json", "", "one JSON object on stdout"}}};
  return *spec;
}

absl::StatusOr<double> Positive(const CommandLine& line, const char* flag,
                                double otherwise) {
  if (!line.Has(flag)) return otherwise;
  double value = 0;
  if (!absl::SimpleAtod(line.Text(flag, ""), &value) || !(value > 0) ||
      value > 1e9) {
    return absl::InvalidArgumentError(
        absl::StrCat("--", flag, " must be a positive number, at most 1e9, ",
                     "not '", line.Text(flag, ""), "'"));
  }
  return value;
}

absl::StatusOr<std::vector<int64_t>> SizesOf(const CommandLine& line,
                                             const Cluster& cluster) {
  if (!line.Has("devices")) return UsualSizes(cluster);
  std::vector<int64_t> sizes;
  for (const absl::string_view word :
       absl::StrSplit(line.Text("devices", ""), ',')) {
    int64_t size = 0;
    if (!absl::SimpleAtoi(word, &size) || size < 1 ||
        (!sizes.empty() && size <= sizes.back())) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--devices must be rising numbers with commas between, not '",
          line.Text("devices", ""), "'"));
    }
    sizes.push_back(size);
  }
  return sizes;
}

absl::StatusOr<ScaleSetting> SettingOf(const CommandLine& line) {
  ScaleSetting setting;
  api::PlanOptions& options = setting.options;
  options.strategy = line.Text("strategy", "auto");
  options.recompute = line.Text("recompute", "auto");
  if (line.Has("memory")) {
    MW_ASSIGN_OR_RETURN(const double gib, Positive(line, "memory", 0));
    options.memory_bytes = static_cast<int64_t>(gib * (1 << 30));
  }
  options.database = line.Optional("database");
  options.assumed = line.Has("assumed");
  MW_ASSIGN_OR_RETURN(options.time_limit_seconds,
                      Positive(line, "time-limit", 60));
  FailureSetting& failures = setting.failures;
  MW_ASSIGN_OR_RETURN(failures.device_mtbf_hours,
                      Positive(line, "mtbf", failures.device_mtbf_hours));
  MW_ASSIGN_OR_RETURN(
      const double gigabytes,
      Positive(line, "save-bandwidth", failures.save_bytes_per_second / 1e9));
  failures.save_bytes_per_second = 1e9 * gigabytes;
  MW_ASSIGN_OR_RETURN(failures.restart_seconds,
                      Positive(line, "restart", failures.restart_seconds));
  if (line.Has("checkpoint-interval")) {
    MW_ASSIGN_OR_RETURN(failures.interval_seconds,
                        Positive(line, "checkpoint-interval", 0));
  }
  return setting;
}

absl::StatusOr<std::vector<Module>> LoadSteps(const CommandLine& line) {
  std::vector<Module> steps;
  std::vector<std::string> paths = line.All("other-batch");
  paths.insert(paths.begin(), line.positional(0));
  for (const std::string& path : paths) {
    MW_ASSIGN_OR_RETURN(Module step, LoadStep(path, line));
    steps.push_back(std::move(step));
  }
  return steps;
}

absl::Status RunScale(const CommandLine& line) {
  if (!line.Has("cluster")) {
    return absl::InvalidArgumentError(
        "--cluster says how far: a cluster file, or h200:2048x8");
  }
  MW_ASSIGN_OR_RETURN(ScaleSetting setting, SettingOf(line));
  MW_ASSIGN_OR_RETURN(const Cluster cluster,
                      LoadCluster(line.Text("cluster", "")));
  MW_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, SizesOf(line, cluster));
  const std::string folder = line.Text("output", "");
  if (!folder.empty()) {
    MW_RETURN_IF_ERROR(MakeDumpFolder(folder, "--output"));
    setting.keep = [&](const ScalePoint& point, const Plan& plan) {
      const std::filesystem::path file =
          std::filesystem::path(folder) / absl::StrCat(point.devices, ".json");
      return WriteFileAtomically(file.string(),
                                 absl::StrCat(ToJson(plan), "\n"));
    };
  }
  MW_ASSIGN_OR_RETURN(const std::vector<Module> steps, LoadSteps(line));
  std::vector<const Module*> pointers;
  for (const Module& step : steps) pointers.push_back(&step);
  auto progress = std::make_unique<Progress>("planning", std::ssize(sizes));
  int64_t devices = 0;
  setting.begin = [&](int64_t now) {
    if (devices > 0) progress->Advance();
    devices = now;
    progress->Note(absl::StrCat(devices, " devices"));
  };
  setting.report = [&](absl::string_view what) {
    progress->Note(absl::StrCat(devices, " devices, ", what));
  };
  MW_ASSIGN_OR_RETURN(const std::vector<ScalePoint> points,
                      PredictScaling(pointers, cluster, sizes, setting));
  progress.reset();
  const ScaleText text{
      .title = absl::StrCat(steps[0].name(), " on ", cluster.ToString()),
      .weak = steps.size() > 1,
      .failures = setting.failures};
  if (line.Has("svg")) {
    MW_RETURN_IF_ERROR(
        WriteFileAtomically(line.Text("svg", ""), ScalingSvg(points, text)));
  }
  absl::PrintF("%s", line.Has("json")
                         ? absl::StrCat(ScalingJson(points, text), "\n")
                         : ScalingTable(points, text));
  return absl::OkStatus();
}

}  // namespace

extern const Command kScaleCommand = {&ScaleSpec, &RunScale};

}  // namespace meshwright
