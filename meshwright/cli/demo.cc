// meshwright demo: plans the embedded character-level GPT for eight devices and
// trains it on real text, on them and on one.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
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
#include "meshwright/cli/measure_rates.h"
#include "meshwright/hlo/read_module.h"
#include "meshwright/hlo/verify.h"
#include "meshwright/planner/planner.h"
#include "meshwright/profile/database.h"
#include "meshwright/runtime/executor.h"
#include "meshwright/runtime/local_runner.h"
#include "meshwright/state/tensor_file.h"

extern "C" {
extern const char mw_demo_module_begin[], mw_demo_module_end[];
extern const char mw_demo_state_begin[], mw_demo_state_end[];
extern const char mw_demo_text_begin[], mw_demo_text_end[];
}

namespace meshwright {
namespace {

constexpr int64_t kDefaultSteps = 20;
constexpr int64_t kDefaultDevices = 8;
constexpr double kCalibrateSeconds = 10;
// Sums are in another order on several devices; training makes the difference
// grow.
constexpr double kLossTolerance = 1e-3;

const CommandSpec& Spec() {
  static const auto* const spec = new CommandSpec{
      .name = "demo",
      .summary =
          "plan a small GPT for eight devices and train it on real "
          "text, on real XLA, here and now",
      .positional = {},
      .flags = {
          {"steps", "K", "how many steps (default 20)"},
          {"devices", "N", "virtual devices (default 8)"},
          {"database", "FILE", "calibrated rates (default: the user's cache)"},
          {"assumed", "", "do not use calibrated rates"},
          {"platform", "NAME",
           "cuda, tpu: train on one device there, without a plan"}}};
  return *spec;
}

absl::string_view Embedded(const char* begin, const char* end) {
  return {begin, static_cast<size_t>(end - begin)};
}

// Windows of the text as s32[rows, columns]; row r of step s starts at its own
// place, `shift` characters on for the targets.
Tensor TextWindows(absl::string_view text, std::string name, const Shape& shape,
                   int64_t step, int64_t shift) {
  const int64_t rows = shape.dimensions[0];
  const int64_t columns = shape.dimensions[1];
  const int64_t starts = std::ssize(text) - columns - 1;
  std::vector<int32_t> tokens;
  for (int64_t row = 0; row < rows; ++row) {
    // A stride that is prime spreads the windows over the text.
    const int64_t start = ((step * rows + row) * 7919) % starts;
    for (int64_t column = 0; column < columns; ++column) {
      tokens.push_back(text[start + column + shift]);
    }
  }
  Tensor tensor{.name = std::move(name),
                .type = ElementType::kS32,
                .dimensions = shape.dimensions};
  tensor.data.resize(tokens.size() * sizeof(int32_t));
  std::memcpy(tensor.data.data(), tokens.data(), tensor.data.size());
  return tensor;
}

std::vector<Tensor> TextBatch(const Module& module, const ModuleRoles& roles,
                              int64_t step) {
  const absl::string_view text = Embedded(mw_demo_text_begin, mw_demo_text_end);
  const std::vector<Instruction*> parameters = module.entry()->Parameters();
  std::vector<Tensor> batch;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const ParameterInfo& info = roles.parameters[i];
    if (info.role != ParameterRole::kData) continue;
    const int64_t shift = absl::EndsWith(info.name, "targets") ? 1 : 0;
    batch.push_back(
        TextWindows(text, info.name, parameters[i]->shape, step, shift));
  }
  return batch;
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
  MW_ASSIGN_OR_RETURN(
      std::vector<Tensor> state,
      ParseTensors(Embedded(mw_demo_state_begin, mw_demo_state_end)));
  MW_RETURN_IF_ERROR((*runner)->Set(std::move(state)));
  return runner;
}

absl::StatusOr<StepResult> StepOn(const Module& module, int64_t step,
                                  JobRunner& runner) {
  MW_RETURN_IF_ERROR(runner.Set(TextBatch(module, runner.roles(), step)));
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
               FormatBytes(mw_demo_text_end - mw_demo_text_begin));
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

// What virtual devices on this machine achieve; measured, if it never was.
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
  double worst = 0;  // Difference of losses, relative.
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
    trained.one_seconds.push_back(alone.seconds);
    trained.seconds.push_back(split.seconds);
    absl::PrintF("  step %2d  loss %.4f, on one device %.4f  %s\n", step + 1,
                 *split.loss, *alone.loss,
                 Bar(*split.loss, trained.first_loss));
    std::fflush(stdout);
  }
  return trained;
}

absl::Status PlanAndTrain(const Module& module, int64_t steps,
                          const CommandLine& line) {
  MW_ASSIGN_OR_RETURN(const int64_t devices,
                      line.Integer("devices", kDefaultDevices, {1, 64}));
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
  progress.emplace("compiling");
  MW_ASSIGN_OR_RETURN(const std::unique_ptr<JobRunner> one,
                      Ready(MakeLocalRunner(module, client.get())));
  MW_ASSIGN_OR_RETURN(const std::unique_ptr<JobRunner> all,
                      Ready(MakeRunner(module, split, client.get())));
  progress.reset();
  absl::PrintF(
      "\ncompiled by XLA for one device and for %d in %s; training on "
      "%s of text\n",
      split.mesh.device_count(), FormatSeconds(compile_time.seconds()),
      FormatBytes(mw_demo_text_end - mw_demo_text_begin));
  MW_ASSIGN_OR_RETURN(const Trained trained,
                      TrainBeside(module, steps, *one, *all));
  MW_ASSIGN_OR_RETURN(const ProgramMemory memory,
                      all->executor()->executables()[0]->Memory());
  absl::PrintF("loss %.4f -> %.4f in %d steps; at most %.1g %% apart\n",
               trained.first_loss, trained.loss, steps, 100 * trained.worst);
  absl::PrintF("%-12s %-12s %s\n", "", "predicted", "measured");
  absl::PrintF("%-12s %-12s %s (one device %s; medians)\n", "step",
               FormatSeconds(plan.predicted.step_seconds),
               FormatSeconds(Median(trained.seconds)),
               FormatSeconds(Median(trained.one_seconds)));
  absl::PrintF("%-12s %-12s %s per device\n", "memory",
               FormatBytes(plan.predicted.peak_bytes),
               FormatBytes(memory.total_bytes()));
  if (trained.worst <= kLossTolerance) return absl::OkStatus();
  return absl::InternalError("the plan does not train as one device does");
}

absl::Status Run(const CommandLine& line) {
  MW_ASSIGN_OR_RETURN(const int64_t steps,
                      line.Integer("steps", kDefaultSteps, {1, 1'000'000}));
  // A cache may fail to be kept, a file that was asked for may not.
  if (line.Has("database") && !line.Has("assumed")) {
    MW_RETURN_IF_ERROR(
        ProfileDatabase::CheckStorable(line.Text("database", "")));
  }
  MW_ASSIGN_OR_RETURN(
      const Module module,
      ReadModule(Embedded(mw_demo_module_begin, mw_demo_module_end)));
  MW_RETURN_IF_ERROR(Verify(module));
  Describe(module, AnalyzeRoles(module));
  const std::string platform = line.Text("platform", "cpu");
  if (platform == "cpu") return PlanAndTrain(module, steps, line);
  MW_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client,
                      MakeClient(platform, 1));
  return TrainOnOne(module, steps, client.get());
}

}  // namespace

extern const Command kDemoCommand = {&Spec, &Run};

}  // namespace meshwright
