#include "meshwright/cli/run_site.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/api/load_plan.h"
#include "meshwright/base/progress.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/base/stopwatch.h"
#include "meshwright/base/units.h"
#include "meshwright/cli/cache_flag.h"
#include "meshwright/cli/ffi_flag.h"
#include "meshwright/cli/split_module.h"
#include "meshwright/mesh/cluster_file.h"
#include "meshwright/runtime/step_metrics.h"

namespace meshwright {
namespace {

absl::StatusOr<RunSite> MakeSite(const CommandLine& line, int64_t devices) {
  MW_ASSIGN_OR_RETURN(const int64_t workers,
                      line.Integer("workers", 0, {1, 4096}));
  MW_ASSIGN_OR_RETURN(const std::string platform, PlatformFor(line));
  RunSite site{.worker_count = static_cast<int>(workers), .devices = devices};
  if (workers == 0) {
    MW_ASSIGN_OR_RETURN(site.client, MakeClientFor(platform, devices));
    site.cache = std::make_unique<CompileCache>(CacheFolderOf(line));
    site.platform = site.client->platform_name();
    site.device_kind = site.client->devices()[0]->kind();
    return site;
  }
  if (workers > devices) {
    return absl::InvalidArgumentError(
        absl::StrCat("--workers ", workers, ": the step is for ",
                     Counted(devices, "device"), ", so some would have none"));
  }
  std::vector<std::string> further = FfiWords(line);
  for (std::string& word : CacheWords(line)) {
    further.push_back(std::move(word));
  }
  MW_ASSIGN_OR_RETURN(
      site.workers,
      LocalWorkers::Start({.count = site.worker_count,
                           .devices = (devices + workers - 1) / workers,
                           .platform = platform,
                           .further = std::move(further)}));
  const proto::Hello& hello = site.workers->coordinator().workers()[0]->hello();
  site.platform = hello.platform();
  site.device_kind = hello.device_kind();
  return site;
}

absl::Status Serve(const Module& module, const CommandLine& line,
                   Running& running) {
  MW_ASSIGN_OR_RETURN(running.served, ServedSite::Connect(line));
  const Stopwatch compile_time;
  const Progress progress("loading");
  MW_ASSIGN_OR_RETURN(running.runner, running.served->Load(module, line));
  running.compile_seconds = compile_time.seconds();
  running.site.worker_count = running.served->workers();
  running.site.devices = running.served->devices();
  running.site.platform = running.served->platform();
  running.site.device_kind = running.served->device_kind();
  return absl::OkStatus();
}

absl::Status Compile(const Module& module, const CommandLine& line,
                     Running& running) {
  MW_ASSIGN_OR_RETURN(running.staged, StageModule(module, line));
  const auto& staged = running.staged;
  auto& split = running.split;
  if (line.Has("trace") && !staged.has_value()) {
    return absl::InvalidArgumentError(
        "--trace needs --stages, or a plan with stages");
  }
  if (staged.has_value()) {
    // The module is already partitioned.
  } else if (line.Has("plan") || line.Has("sharding") || line.Has("mesh")) {
    MW_ASSIGN_OR_RETURN(split, SplitModule(module, AnalyzeRoles(module), line));
  }
  const int64_t devices = staged.has_value()  ? staged->device_count()
                          : split.has_value() ? split->mesh.device_count()
                                              : 1;
  MW_ASSIGN_OR_RETURN(running.site, MakeSite(line, devices));
  const Where where = running.site.where();
  const Stopwatch compile_time;
  const Progress progress("compiling");
  if (staged.has_value()) {
    MW_ASSIGN_OR_RETURN(std::unique_ptr<PipelineRunner> runner,
                        MakeRunner(module, *staged, where));
    running.job = &runner->pipeline();
    running.pipeline = running.job;
    running.runner = std::move(runner);
  } else {
    MW_ASSIGN_OR_RETURN(std::unique_ptr<JobRunner> runner,
                        split.has_value() ? MakeRunner(module, *split, where)
                                          : MakeRunner(module, where));
    running.job = runner.get();
    running.runner = std::move(runner);
  }
  running.compile_seconds = compile_time.seconds();
  return absl::OkStatus();
}

// The metrics have one line per step.
absl::Status OpenMetrics(const Module& module, const CommandLine& line,
                         Running& running) {
  if (!line.Has("metrics")) return absl::OkStatus();
  MW_ASSIGN_OR_RETURN(running.metrics,
                      LineFile::Open(line.Text("metrics", "")));
  Cluster cluster;  // Without a plan, nothing is known about the cluster.
  if (line.Has("plan")) {
    MW_ASSIGN_OR_RETURN(const Plan plan, LoadPlan(line.Text("plan", "")));
    cluster = plan.cluster;
  }
  running.job->OnStep([facts = FactsOf(module, cluster, running.site.devices),
                       job = &running.job->job(), file = running.metrics.get()](
                          int64_t number, const StepReport& report) {
    file->Append(ToJsonLine(FiguresOf(facts, *job, number, report)));
  });
  return absl::OkStatus();
}

}  // namespace

absl::Status StartRunning(const Module& module, const CommandLine& line,
                          Running& running) {
  if (line.Has("serve-at")) return Serve(module, line, running);
  MW_RETURN_IF_ERROR(Compile(module, line, running));
  return OpenMetrics(module, line, running);
}

}  // namespace meshwright
