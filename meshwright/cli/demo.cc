// meshwright demo: plans the embedded character-level GPT for eight devices,
// trains it on real text on the devices of two worker processes, and on one
// device for comparison; a job with another layout then reads its checkpoint.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <system_error>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "meshwright/analysis/flops.h"
#include "meshwright/analysis/summary.h"
#include "meshwright/api/device_client.h"
#include "meshwright/api/load_cluster.h"
#include "meshwright/api/plan_text.h"
#include "meshwright/api/planned_runner.h"
#include "meshwright/base/median.h"
#include "meshwright/base/progress.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/base/stopwatch.h"
#include "meshwright/base/units.h"
#include "meshwright/cli/commands.h"
#include "meshwright/cli/demo_data.h"
#include "meshwright/cli/measure_rates.h"
#include "meshwright/planner/planner.h"
#include "meshwright/profile/database.h"
#include "meshwright/runtime/local_runner.h"
#include "meshwright/service/local_workers.h"

namespace meshwright {
namespace {

constexpr int64_t kDefaultSteps = 100;
constexpr int64_t kDefaultDevices = 8;
constexpr int kWorkers = 2;
// Devices of the job that reads the checkpoint.
constexpr int64_t kOtherDevices = 4;
constexpr int64_t kShownSteps = 10;  // Approximate limit.
constexpr double kCalibrateSeconds = 10;
// Several devices sum in another order. Training makes the differences grow, so
// only the first steps are evidence for the plan.
constexpr double kLossTolerance = 1e-3;
constexpr int64_t kComparedSteps = 50;

const CommandSpec& DemoSpec() {
  static const auto* const spec = new CommandSpec{
      .name = "demo",
      .summary =
          "plan a small GPT for eight devices, train it on real text on two "
          "workers, and restore its checkpoint elsewhere",
      .positional = {},
      .flags = {
          {"steps", "K", "how many steps (default 100)"},
          {"devices", "N", "virtual devices (default 8)"},
          {"database", "FILE", "calibrated rates (default: the user's cache)"},
          {"assumed", "", "do not use calibrated rates"},
          {"platform", "NAME",
           "cuda, tpu: train on one device there, without a plan"}}};
  return *spec;
}

void Describe(const Module& module, const ModuleRoles& roles) {
  const ModuleSummary summary = Summarize(module, roles);
  absl::PrintF(
      "module %s: one training step (forward, backward, AdamW), as JAX lowered "
      "it\n  %d instructions, %s FLOPs, state %s in %d tensors\n",
      module.name(), summary.instructions,
      FormatCount(ModuleWork(module).total().flops),
      FormatBytes(summary.state_bytes), roles.state_pairs.size());
}

std::string Bar(double loss, double first_loss) {
  const double share = std::clamp(loss / first_loss, 0.0, 1.0);
  return std::string(static_cast<size_t>(std::lround(40 * share)), '#');
}

absl::StatusOr<std::unique_ptr<JobRunner>> Ready(
    absl::StatusOr<std::unique_ptr<JobRunner>> runner) {
  MW_RETURN_IF_ERROR(runner.status());
  MW_ASSIGN_OR_RETURN(std::vector<Tensor> state, DemoState());
  MW_RETURN_IF_ERROR((*runner)->Set(std::move(state)));
  return runner;
}

absl::StatusOr<StepResult> StepOn(const Module& module, int64_t step,
                                  JobRunner& runner) {
  MW_RETURN_IF_ERROR(runner.Set(DemoBatch(module, runner.roles(), step)));
  return runner.Step();
}

absl::Status TrainOnOne(const Module& module, int64_t steps, Client* client) {
  const Stopwatch compile_time;
  std::optional<Progress> progress(std::in_place, "compiling");
  MW_ASSIGN_OR_RETURN(const std::unique_ptr<JobRunner> runner,
                      Ready(MakeLocalRunner(module, client)));
  progress.reset();
  absl::PrintF("compiled by XLA for %s in %s; training on %s of text\n",
               client->devices()[0]->kind(),
               FormatSeconds(compile_time.seconds()),
               FormatBytes(std::ssize(DemoText())));
  std::vector<double> seconds;
  std::vector<double> losses;
  for (int64_t step = 0; step < steps; ++step) {
    MW_ASSIGN_OR_RETURN(const StepResult result, StepOn(module, step, *runner));
    losses.push_back(*result.loss);
    seconds.push_back(result.seconds);
    absl::PrintF("  step %2d  loss %.4f  %9s  %s\n", step + 1, *result.loss,
                 FormatSeconds(result.seconds), Bar(*result.loss, losses[0]));
    std::fflush(stdout);
  }
  absl::PrintF("loss %.4f -> %.4f in %d steps, %s a step (median)\n", losses[0],
               losses.back(), steps, FormatSeconds(Median(seconds)));
  return absl::OkStatus();
}

// Rates of virtual devices on this machine; measured now if they never were.
absl::StatusOr<Rates> RatesHere(Client& client, const Cluster& cluster,
                                const CommandLine& line) {
  MW_ASSIGN_OR_RETURN(Rates rates, RatesOf(cluster, line));
  if (line.Has("assumed") || rates.memory.origin != Origin::kAssumed) {
    return rates;
  }
  const std::string database = line.Text("database", DefaultProfilePath());
  absl::PrintF("measuring what this machine achieves, once, into %s\n",
               database);
  std::fflush(stdout);
  return MeasureRates(client, cluster, database,
                      {.seconds = kCalibrateSeconds});
}

struct Trained {
  std::vector<double> one_seconds;
  std::vector<double> seconds;
  double first_loss = 0;
  double loss = 0;
  double worst = 0;        // Relative difference of losses.
  double first_worst = 0;  // Among the first kComparedSteps.
};

absl::StatusOr<Trained> TrainBeside(const Module& module, int64_t steps,
                                    JobRunner& one, JobRunner& all) {
  Trained trained;
  for (int64_t step = 0; step < steps; ++step) {
    MW_ASSIGN_OR_RETURN(const StepResult alone, StepOn(module, step, one));
    MW_ASSIGN_OR_RETURN(const StepResult split, StepOn(module, step, all));
    if (step == 0) trained.first_loss = *alone.loss;
    trained.loss = *split.loss;
    trained.worst =
        std::max(trained.worst, std::abs(*split.loss / *alone.loss - 1));
    if (step < kComparedSteps) trained.first_worst = trained.worst;
    trained.one_seconds.push_back(alone.seconds);
    trained.seconds.push_back(split.seconds);
    const int64_t shown = std::max<int64_t>(1, steps / kShownSteps);
    if (step > 0 && step + 1 < steps && (step + 1) % shown != 0) continue;
    absl::PrintF("  step %3d  loss %.4f, on one device %.4f  %s\n", step + 1,
                 *split.loss, *alone.loss,
                 Bar(*split.loss, trained.first_loss));
    std::fflush(stdout);
  }
  return trained;
}

// Saves the state of a job and restores it into a job with another layout.
absl::Status RestoreElsewhere(const Module& module, const Rates& rates,
                              int64_t steps, JobRunner& all) {
  std::error_code error;
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path(error) /
      absl::StrCat("meshwright-demo-", ::getpid());
  const absl::Cleanup remove = [&folder] {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  };
  MW_RETURN_IF_ERROR(all.Save({.directory = folder.string(), .step = steps}));
  MW_ASSIGN_OR_RETURN(const Cluster cluster,
                      LoadCluster(absl::StrCat("cpu:", kOtherDevices)));
  MW_ASSIGN_OR_RETURN(const Plan plan,
                      MakePlan(module, cluster, rates,
                               {.expert = Expert::kZero3, .stages = 1}));
  MW_ASSIGN_OR_RETURN(const Partitioned split, PartitionPlan(module, plan));
  MW_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client,
                      MakeClientFor("cpu", kOtherDevices));
  std::optional<Progress> progress(std::in_place, "compiling");
  MW_ASSIGN_OR_RETURN(const std::unique_ptr<JobRunner> other,
                      MakeRunner(module, split, client.get()));
  progress.reset();
  MW_RETURN_IF_ERROR(other->Restore(folder.string()).status());
  MW_ASSIGN_OR_RETURN(const std::vector<Tensor> before, all.ReadState());
  MW_ASSIGN_OR_RETURN(const std::vector<Tensor> after, other->ReadState());
  if (before != after) {
    return absl::InternalError("the state that was restored is another one");
  }
  absl::PrintF(
      "saved by the workers, restored on %d devices of one process under "
      "zero3: all %d tensors are equal, bit by bit\n",
      kOtherDevices, after.size());
  return absl::OkStatus();
}

void TellOfMore() {
  absl::PrintF(
      "\nwhere to look next\n"
      "  your own step     meshwright plan step.hlo.pb --cluster h200:8\n"
      "  from Python       step = meshwright.parallelize(train_step)   "
      "(examples/gpt.py, docs/python.md)\n"
      "  why this plan     meshwright explain plan.json --module step.hlo.pb\n"
      "  many machines     meshwright serve, meshwright worker --join   "
      "(docs/launching.md)\n");
}

absl::Status PlanAndTrain(const Module& module, int64_t steps,
                          const CommandLine& line) {
  MW_ASSIGN_OR_RETURN(const int64_t devices,
                      line.Integer("devices", kDefaultDevices, {2, 64}));
  MW_ASSIGN_OR_RETURN(const Cluster cluster,
                      LoadCluster(absl::StrCat("cpu:", devices)));
  MW_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client,
                      MakeClientFor("cpu", devices));
  MW_ASSIGN_OR_RETURN(const Rates rates, RatesHere(*client, cluster, line));
  absl::PrintF("\n");
  std::optional<Progress> progress(std::in_place, "planning");
  MW_ASSIGN_OR_RETURN(const Plan plan,
                      MakePlan(module, cluster, rates, {.stages = 1}));
  progress.reset();
  absl::PrintF("%s", PlanText(plan, cluster));
  MW_ASSIGN_OR_RETURN(const Partitioned split, PartitionPlan(module, plan));
  const Stopwatch compile_time;
  progress.emplace("starting workers, compiling");
  MW_ASSIGN_OR_RETURN(
      const std::unique_ptr<LocalWorkers> workers,
      LocalWorkers::Start({.count = kWorkers,
                           .devices = (devices + kWorkers - 1) / kWorkers,
                           .platform = "cpu"}));
  MW_ASSIGN_OR_RETURN(const std::unique_ptr<JobRunner> one,
                      Ready(MakeLocalRunner(module, client.get())));
  MW_ASSIGN_OR_RETURN(
      const std::unique_ptr<JobRunner> all,
      Ready(MakeRunner(module, split, &workers->coordinator())));
  progress.reset();
  absl::PrintF(
      "\na coordinator and %d workers with %d virtual devices, beside them one "
      "device;\ncompiled by XLA for both in %s; training on %s of text\n",
      kWorkers, split.mesh.device_count(),
      FormatSeconds(compile_time.seconds()),
      FormatBytes(std::ssize(DemoText())));
  MW_ASSIGN_OR_RETURN(const Trained trained,
                      TrainBeside(module, steps, *one, *all));
  absl::PrintF("loss %.4f -> %.4f in %d steps; at most %.1g %% apart",
               trained.first_loss, trained.loss, steps,
               100 * trained.first_worst);
  if (steps > kComparedSteps) {
    absl::PrintF(" in the first %d, then rounding grows to %.1g %%",
                 kComparedSteps, 100 * trained.worst);
  }
  absl::PrintF("\n");
  absl::PrintF("step %s (predicted %s); on one device %s (medians)\n",
               FormatSeconds(Median(trained.seconds)),
               FormatSeconds(plan.predicted.step_seconds),
               FormatSeconds(Median(trained.one_seconds)));
  if (trained.first_worst > kLossTolerance) {
    return absl::InternalError("the plan does not train as one device does");
  }
  MW_RETURN_IF_ERROR(RestoreElsewhere(module, rates, steps, *all));
  TellOfMore();
  return absl::OkStatus();
}

absl::Status RunDemo(const CommandLine& line) {
  MW_ASSIGN_OR_RETURN(const int64_t steps,
                      line.Integer("steps", kDefaultSteps, {1, 1'000'000}));
  // Failing to store a cache is not an error; failing to write a requested file
  // is.
  if (line.Has("database") && !line.Has("assumed")) {
    MW_RETURN_IF_ERROR(
        ProfileDatabase::CheckStorable(line.Text("database", "")));
  }
  MW_ASSIGN_OR_RETURN(const Module module, DemoModule());
  Describe(module, AnalyzeRoles(module));
  const std::string platform = line.Text("platform", "cpu");
  if (platform == "cpu") return PlanAndTrain(module, steps, line);
  MW_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client,
                      MakeClient(platform, 1));
  return TrainOnOne(module, steps, client.get());
}

}  // namespace

extern const Command kDemoCommand = {&DemoSpec, &RunDemo};

}  // namespace meshwright
