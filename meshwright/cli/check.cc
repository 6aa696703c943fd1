// meshwright check: compares a partitioned step with the whole step on one
// device.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "meshwright/annotations/island_fit.h"
#include "meshwright/api/planned_runner.h"
#include "meshwright/base/median.h"
#include "meshwright/base/progress.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/base/units.h"
#include "meshwright/cli/commands.h"
#include "meshwright/cli/compare_runs.h"
#include "meshwright/cli/ffi_flag.h"
#include "meshwright/cli/host_memory.h"
#include "meshwright/cli/load_module.h"
#include "meshwright/cli/report_peak.h"
#include "meshwright/cli/split_module.h"
#include "meshwright/cli/stage_module.h"
#include "meshwright/engine/xnn_fusions.h"
#include "meshwright/hlo/read_module.h"
#include "meshwright/microbatch/micro_batch_loop.h"
#include "meshwright/partition/islands_only.h"
#include "meshwright/rules/collectives.h"
#include "meshwright/rules/fused_attention.h"
#include "meshwright/runtime/executor.h"
#include "meshwright/runtime/local_runner.h"

namespace meshwright {
namespace {

using Json = nlohmann::ordered_json;

const CommandSpec& CheckSpec() {
  static const auto* const spec = [] {
    auto* made = new CommandSpec{
        .name = "check",
        .summary = "run a partitioned module and compare it with one device",
        .positional = {"MODULE"},
        .flags = SplitFlags()};
    const std::vector<FlagSpec> stages = StageFlags();
    made->flags.insert(made->flags.end(), stages.begin(), stages.end());
    made->flags.push_back({"steps", "K", "how many steps (default 3)"});
    made->flags.push_back({"seed", "S", "of the inputs (default 0)"});
    made->flags.push_back(
        {"tolerance", "T",
         "allowed error relative to a tensor's values (default 2e-5; 2e-2 "
         "for 16-bit types and steps that contract such; and what last-bit "
         "changes of the inputs make)"});
    made->flags.push_back(
        {"platform", "NAME", "cpu, cuda, tpu (default: cpu)"});
    made->flags.push_back(FfiFlag());
    made->flags.push_back({"json", "", "one JSON object on stdout"});
    return made;
  }();
  return *spec;
}

// The collectives in the program as compiled.
absl::StatusOr<std::vector<Collective>> CompiledCollectives(
    const Executable& executable, int64_t devices) {
  MW_ASSIGN_OR_RETURN(const Program program, executable.OptimizedProgram());
  MW_ASSIGN_OR_RETURN(const Module module, ReadModule(program.code));
  std::vector<Collective> collectives;
  for (const CollectiveUse& use : CollectivesIn(module, devices)) {
    collectives.push_back({.kind = use.kind,
                           .tensor = use.instruction->name,
                           .devices = use.devices,
                           .bytes = use.bytes,
                           .wire_bytes = use.wire_bytes,
                           .count = use.count});
  }
  return collectives;
}

// The peak on devices on which the whole step did not run.
absl::Status AddMeasuredPeak(const CommandLine& line, const Executor& executor,
                             JobRunner& whole, Json& json) {
  std::set<int> others;
  for (const auto& executable : whole.executor()->executables()) {
    for (const Device* device : executable->devices()) {
      others.insert(device->id());
    }
  }
  MW_ASSIGN_OR_RETURN(const PeakMemory peak, MeasurePeak(executor, others));
  return AddPeaks(line, peak, json);
}

// Options of the comparison.
struct CheckOptions : ComparisonOptions {
  std::string platform;
  bool json = false;
};

absl::StatusOr<CheckOptions> ReadOptions(const CommandLine& line) {
  CheckOptions options;
  options.platform = line.Text("platform", "cpu");
  options.json = line.Has("json");
  MW_ASSIGN_OR_RETURN(options.steps, line.Integer("steps", 3, {1, 1'000'000}));
  MW_ASSIGN_OR_RETURN(options.seed, line.Integer("seed", 0, {0, INT64_MAX}));
  if (line.Has("tolerance") &&
      (!absl::SimpleAtod(line.Text("tolerance", ""), &options.tolerance) ||
       !(options.tolerance > 0))) {
    return absl::InvalidArgumentError(
        absl::StrCat("--tolerance must be a positive number, not '",
                     line.Text("tolerance", ""), "'"));
  }
  return options;
}

// Printed if attention would drop different elements on several devices than on
// one.
constexpr absl::string_view kWithoutDropout =
    "  compared without dropout in attention: what it drops depends on the "
    "split\n";

// The reference: the step on one device or, if it has shard_map regions, on as
// many as those need, with nothing else sharded.
struct WholeStep {
  std::unique_ptr<JobRunner> runner;
  std::optional<int64_t> devices;  // If there are regions.

  std::string Remark() const {
    if (!devices.has_value()) return "";
    return absl::StrCat(
        "  a shard_map region does not run on one device: compared with ",
        *devices, " that split nothing else\n");
  }
};
absl::StatusOr<WholeStep> RunWhole(const Module& module, const Mesh& mesh,
                                   Client* client) {
  WholeStep whole;
  if (IslandsIn(module).empty()) {
    MW_ASSIGN_OR_RETURN(whole.runner, MakeLocalRunner(module, client));
    return whole;
  }
  MW_ASSIGN_OR_RETURN(const Partitioned islands_only,
                      PartitionIslandsOnly(module, mesh));
  MW_ASSIGN_OR_RETURN(whole.runner, MakeRunner(module, islands_only, client));
  whole.devices = islands_only.mesh.device_count();
  return whole;
}

// The step on one device by other kernels of the compiler, which add up in
// another order.
OtherOrder OtherKernels(const Module& module, const WholeStep& whole,
                        Client* client) {
  if (whole.devices.has_value()) return nullptr;
  return [&module, client]() -> absl::StatusOr<std::unique_ptr<Runner>> {
    OptionMap overrides;
    if (client->platform_name() == "cpu") {
      overrides[kXnnFusionType] = std::string("LIBRARY_FUSION_TYPE_INVALID");
    } else {
      overrides["xla_gpu_enable_triton_gemm"] = false;
    }
    return MakeLocalRunner(module, client, std::move(overrides));
  };
}

// The check of a pipeline.
absl::Status RunStaged(Module& module, const CheckOptions& options,
                       const CommandLine& line, StagedModule staged) {
  MW_RETURN_IF_ERROR(CheckParametersFit(module));
  const bool without_dropout = SwitchOffDropout(module);
  for (Partitioned& program : staged.layout.programs) {
    SwitchOffDropout(program.module);
  }
  const int64_t devices = staged.device_count();
  MW_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client,
                      MakeClientFor(options.platform, devices));
  Progress progress("checking", ComparedSteps(options) + 2);
  progress.Note("compiling for one device");
  // If each micro-batch has its own statistics, the result differs from that of
  // the whole batch.
  std::optional<Module> looped;
  if (staged.estimates_statistics) {
    MW_ASSIGN_OR_RETURN(looped, LoopOverMicroBatches(
                                    module, {.count = staged.step.micro_batches,
                                             .allow_inexact = true}));
  }
  const Module& reference = looped.has_value() ? *looped : module;
  MW_ASSIGN_OR_RETURN(
      const WholeStep whole,
      RunWhole(reference, staged.layout.meshes[0], client.get()));
  progress.Advance("compiling the stages");
  MW_ASSIGN_OR_RETURN(const auto runner,
                      MakeRunner(module, staged, client.get()));
  progress.Advance();
  MW_ASSIGN_OR_RETURN(
      const RunComparison compared,
      RunAndCompare(reference, *whole.runner, *runner, options, progress,
                    OtherKernels(reference, whole, client.get())));
  const StagedStep& step = staged.step;
  if (options.json) {
    Json collectives = Json::array();
    int64_t peak = 0;
    for (const std::unique_ptr<Executable>& executable :
         runner->pipeline().executor()->executables()) {
      MW_ASSIGN_OR_RETURN(const ProgramMemory memory, executable->Memory());
      peak = std::max(peak, memory.total_bytes());
      MW_ASSIGN_OR_RETURN(
          const std::vector<Collective> compiled,
          CompiledCollectives(*executable, std::ssize(executable->devices())));
      for (Json& collective : ToJson(compiled)) {
        collectives.push_back(std::move(collective));
      }
    }
    Json json = compared.ToJson();
    json.update(
        Json{{"steps", options.steps},
             {"devices", devices},
             {"stages", step.stages},
             {"micro_batches", step.micro_batches},
             {"schedule", staged.schedule},
             {"collectives", collectives},
             {"peak_bytes", peak},
             {"state_bytes", staged.state_bytes},
             {"without_dropout", without_dropout},
             {"step_seconds", Median(compared.seconds)},
             {"one_device_step_seconds", Median(compared.whole_seconds)}});
    MW_RETURN_IF_ERROR(AddMeasuredPeak(line, *runner->pipeline().executor(),
                                       *whole.runner, json));
    absl::PrintF("%s\n", json.dump(2));
  } else {
    absl::PrintF("%s", compared.ToString(
                           options, devices,
                           absl::StrCat(step.stages, " stages, ",
                                        step.micro_batches, " micro-batches")));
    PrintStages(staged);
    if (without_dropout) absl::PrintF("%s", kWithoutDropout);
    absl::PrintF("  step %s (one device %s)\n",
                 FormatSeconds(Median(compared.seconds)),
                 FormatSeconds(Median(compared.whole_seconds)));
    absl::PrintF("%s", whole.Remark());
  }
  return compared.status();
}

absl::Status RunCheck(const CommandLine& line) {
  MW_ASSIGN_OR_RETURN(const CheckOptions options, ReadOptions(line));
  MW_RETURN_IF_ERROR(LoadFfiLibraries(line));
  MW_ASSIGN_OR_RETURN(Module module, LoadStep(line.positional(0), line));
  const ModuleRoles roles = AnalyzeRoles(module);
  MW_ASSIGN_OR_RETURN(std::optional<StagedModule> staged,
                      StageModule(module, line));
  if (staged.has_value()) {
    return RunStaged(module, options, line, *std::move(staged));
  }
  MW_ASSIGN_OR_RETURN(Partitioned split, SplitModule(module, roles, line));
  MW_RETURN_IF_ERROR(CheckParametersFit(module));
  const bool without_dropout =
      SwitchOffDropout(split.module) && SwitchOffDropout(module);
  const int64_t devices = split.mesh.device_count();
  MW_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client,
                      MakeClientFor(options.platform, devices));
  Progress progress("checking", ComparedSteps(options) + 2);
  progress.Note("compiling for one device");
  MW_ASSIGN_OR_RETURN(const WholeStep whole,
                      RunWhole(module, split.mesh, client.get()));
  progress.Advance("compiling for all devices");
  ShardedStep sharded{.program = split.module,
                      .mesh = split.mesh,
                      .parameters = split.parameters,
                      .outputs = split.outputs,
                      .padding = '\xff'};
  MW_ASSIGN_OR_RETURN(
      const auto runner,
      MakeLocalRunner(module, std::move(sharded), client.get()));
  progress.Advance();
  MW_ASSIGN_OR_RETURN(
      const RunComparison compared,
      RunAndCompare(module, *whole.runner, *runner, options, progress,
                    OtherKernels(module, whole, client.get())));
  MW_RETURN_IF_ERROR(runner->CheckOutputCopies());
  MW_ASSIGN_OR_RETURN(const ProgramMemory memory,
                      runner->executor()->executables()[0]->Memory());
  MW_ASSIGN_OR_RETURN(
      const std::vector<Collective> compiled,
      CompiledCollectives(*runner->executor()->executables()[0], devices));
  if (options.json) {
    Json json = compared.ToJson();
    json.update(
        Json{{"steps", options.steps},
             {"devices", devices},
             {"collectives", ToJson(compiled)},
             {"without_dropout", without_dropout},
             {"peak_bytes", memory.total_bytes()},
             {"step_seconds", Median(compared.seconds)},
             {"one_device_step_seconds", Median(compared.whole_seconds)}});
    MW_RETURN_IF_ERROR(
        AddMeasuredPeak(line, *runner->executor(), *whole.runner, json));
    absl::PrintF("%s\n", json.dump(2));
  } else {
    absl::PrintF("%s",
                 compared.ToString(options, devices, split.mesh.ToString()));
    PrintCollectives(split.collectives);
    absl::PrintF("  %s per device, step %s (one device %s)\n",
                 FormatBytes(memory.total_bytes()),
                 FormatSeconds(Median(compared.seconds)),
                 FormatSeconds(Median(compared.whole_seconds)));
    if (without_dropout) absl::PrintF("%s", kWithoutDropout);
    absl::PrintF("%s", whole.Remark());
  }
  return compared.status();
}

}  // namespace

extern const Command kCheckCommand = {&CheckSpec, &RunCheck};

}  // namespace meshwright
