// meshwright check: a partitioned step against the whole step on one device.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "meshwright/annotations/island_fit.h"
#include "meshwright/api/planned_runner.h"
#include "meshwright/base/median.h"
#include "meshwright/base/progress.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/base/units.h"
#include "meshwright/cli/commands.h"
#include "meshwright/cli/host_memory.h"
#include "meshwright/cli/load_module.h"
#include "meshwright/cli/split_module.h"
#include "meshwright/cli/stage_module.h"
#include "meshwright/hlo/literal.h"
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

const CommandSpec& Spec() {
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
         "for 16-bit types and steps that contract such)"});
    made->flags.push_back(
        {"platform", "NAME", "cpu, cuda, tpu (default: cpu)"});
    made->flags.push_back({"json", "", "one JSON object on stdout"});
    return made;
  }();
  return *spec;
}

struct Errors {
  double absolute = 0;
  double relative = 0;  // To the tensor's largest value.
  std::string worst;    // The tensor with the largest relative error.
  std::string wrong;    // The first that is out of tolerance.
};

constexpr double kRounded = 2e-2;  // To 16 bits on the way.
constexpr double kExact = 2e-5;

double Tolerance(ElementType type, double given) {
  if (given > 0) return given;
  return BitWidth(type) < 32 ? kRounded : kExact;
}

void Compare(const Tensor& want, const Tensor& got, double given,
             Errors& errors) {
  const Literal a = AsLiteral(want);
  const Literal b = AsLiteral(got);
  const int64_t count = ElementCount(a.shape);
  double scale = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double value = std::abs(a.ElementAsDouble(i));
    if (std::isfinite(value)) scale = std::max(scale, value);
  }
  const double tolerance = Tolerance(want.type, given);
  for (int64_t i = 0; i < count; ++i) {
    const double x = a.ElementAsDouble(i);
    const double y = b.ElementAsDouble(i);
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    const double error = std::abs(x - y);
    if (!(error <= tolerance * (std::abs(x) + 0.1 * scale)) &&
        errors.wrong.empty()) {
      errors.wrong = absl::StrFormat("%s: element %d is %g, on one device %g",
                                     want.name, i, y, x);
    }
    errors.absolute = std::max(errors.absolute, error);
    const double relative = scale > 0 ? error / scale : 1;
    if (relative > errors.relative) {
      errors.relative = relative;
      errors.worst = want.name;
    }
  }
}

absl::StatusOr<std::vector<double>> RunSteps(Runner& runner, int64_t steps,
                                             uint64_t seed,
                                             Progress& progress) {
  MW_RETURN_IF_ERROR(runner.FillSynthetic(seed));
  progress.Note("running");
  std::vector<double> seconds;
  for (int64_t step = 0; step < steps; ++step) {
    MW_ASSIGN_OR_RETURN(const StepResult result, runner.Step());
    seconds.push_back(result.seconds);
    progress.Advance("running");
  }
  return seconds;
}

// The collectives that the compiler left in the program.
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

// What was asked of the comparison.
struct CheckOptions {
  int64_t steps = 3;
  uint64_t seed = 0;
  double tolerance = 0;
  std::string platform;
  bool json = false;
};

absl::StatusOr<CheckOptions> ReadOptions(const CommandLine& line) {
  CheckOptions options{.platform = line.Text("platform", "cpu"),
                       .json = line.Has("json")};
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

std::string Verdict(const Errors& errors, const CheckOptions& options,
                    int64_t devices, absl::string_view how) {
  return absl::StrFormat(
      "%s after %d steps on %d devices (%s): largest error %.2g of a tensor's "
      "scale%s\n",
      errors.wrong.empty() ? "equal" : "NOT EQUAL", options.steps, devices, how,
      errors.relative,
      errors.worst.empty() ? "" : absl::StrCat(" (", errors.worst, ")"));
}

// An instruction whose random numbers are not computed from a key; null if
// there is none.
const Instruction* DrawnWithoutKey(const Module& module) {
  for (const auto& computation : module.computations()) {
    for (const auto& instruction : computation->instructions()) {
      if (instruction->opcode == Opcode::kRng ||
          instruction->opcode == Opcode::kRngGetAndUpdateState) {
        return instruction.get();
      }
    }
  }
  return nullptr;
}

// Whether some contraction is of numbers of fewer than 32 bits.
bool ContractsFewBits(const Module& module) {
  for (const auto& computation : module.computations()) {
    for (const auto& instruction : computation->instructions()) {
      if ((instruction->opcode == Opcode::kDot ||
           instruction->opcode == Opcode::kConvolution) &&
          BitWidth(instruction->operand_shape(0).element_type) < 32) {
        return true;
      }
    }
  }
  return false;
}

absl::StatusOr<Errors> CompareOutputs(const Module& module, const Runner& whole,
                                      const Runner& parts, double tolerance) {
  MW_ASSIGN_OR_RETURN(const std::vector<Tensor> want, whole.ReadOutputs());
  MW_ASSIGN_OR_RETURN(const std::vector<Tensor> got, parts.ReadOutputs());
  // Sums of rounded products differ by as much, whatever the state's type.
  if (tolerance == 0 && ContractsFewBits(module)) tolerance = kRounded;
  Errors errors;
  for (size_t i = 0; i < want.size(); ++i) {
    Compare(want[i], got[i], tolerance, errors);
  }
  const Instruction* drawn = DrawnWithoutKey(module);
  if (!errors.wrong.empty() && drawn != nullptr) {
    absl::StrAppend(&errors.wrong, "; ", drawn->name,
                    " draws random numbers without a key, so that two programs "
                    "need not draw the same: use rng-bit-generator");
  }
  return errors;
}

// Of what is compared, when attention would drop other elements on several
// devices than on one.
constexpr absl::string_view kWithoutDropout =
    "  compared without dropout in attention: what it drops depends on the "
    "split\n";

// The same for a pipeline.
absl::Status RunStaged(Module& module, const CheckOptions& options,
                       StagedModule staged) {
  MW_RETURN_IF_ERROR(CheckParametersFit(module));
  const bool without_dropout = SwitchOffDropout(module);
  for (Partitioned& program : staged.layout.programs) {
    SwitchOffDropout(program.module);
  }
  const int64_t devices = staged.device_count();
  MW_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client,
                      MakeClientFor(options.platform, devices));
  Progress progress("checking", 2 * options.steps + 2);
  progress.Note("compiling for one device");
  // With each micro-batch's own statistics the step computes something else.
  std::optional<Module> looped;
  if (staged.estimates_statistics) {
    MW_ASSIGN_OR_RETURN(looped, LoopOverMicroBatches(
                                    module, {.count = staged.step.micro_batches,
                                             .allow_inexact = true}));
  }
  MW_ASSIGN_OR_RETURN(
      const auto whole,
      MakeLocalRunner(looped.has_value() ? *looped : module, client.get()));
  progress.Advance("compiling the stages");
  MW_ASSIGN_OR_RETURN(const auto runner,
                      MakeRunner(module, staged, client.get()));
  progress.Advance();
  MW_ASSIGN_OR_RETURN(const std::vector<double> whole_seconds,
                      RunSteps(*whole, options.steps, options.seed, progress));
  MW_ASSIGN_OR_RETURN(const std::vector<double> seconds,
                      RunSteps(*runner, options.steps, options.seed, progress));
  MW_ASSIGN_OR_RETURN(
      const Errors errors,
      CompareOutputs(module, *whole, *runner, options.tolerance));
  const StagedStep& step = staged.step;
  const bool ok = errors.wrong.empty();
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
    const Json json = {{"ok", ok},
                       {"max_abs_error", errors.absolute},
                       {"max_rel_error", errors.relative},
                       {"worst", errors.worst},
                       {"steps", options.steps},
                       {"devices", devices},
                       {"stages", step.stages},
                       {"micro_batches", step.micro_batches},
                       {"schedule", staged.schedule},
                       {"collectives", collectives},
                       {"peak_bytes", peak},
                       {"state_bytes", staged.state_bytes},
                       {"without_dropout", without_dropout},
                       {"step_seconds", Median(seconds)},
                       {"one_device_step_seconds", Median(whole_seconds)}};
    absl::PrintF("%s\n", json.dump(2));
  } else {
    absl::PrintF(
        "%s", Verdict(errors, options, devices,
                      absl::StrCat(step.stages, " stages, ", step.micro_batches,
                                   " micro-batches")));
    PrintStages(staged);
    if (without_dropout) absl::PrintF("%s", kWithoutDropout);
    absl::PrintF("  step %s (one device %s)\n", FormatSeconds(Median(seconds)),
                 FormatSeconds(Median(whole_seconds)));
  }
  return ok ? absl::OkStatus() : absl::InternalError(errors.wrong);
}

absl::Status Run(const CommandLine& line) {
  MW_ASSIGN_OR_RETURN(const CheckOptions options, ReadOptions(line));
  MW_ASSIGN_OR_RETURN(Module module, LoadStep(line.positional(0), line));
  const ModuleRoles roles = AnalyzeRoles(module);
  MW_ASSIGN_OR_RETURN(std::optional<StagedModule> staged,
                      StageModule(module, line));
  if (staged.has_value()) {
    return RunStaged(module, options, *std::move(staged));
  }
  MW_ASSIGN_OR_RETURN(Partitioned split, SplitModule(module, roles, line));
  MW_RETURN_IF_ERROR(CheckParametersFit(module));
  const bool without_dropout =
      SwitchOffDropout(split.module) && SwitchOffDropout(module);
  const int64_t devices = split.mesh.device_count();
  MW_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client,
                      MakeClientFor(options.platform, devices));
  Progress progress("checking", 2 * options.steps + 2);
  progress.Note("compiling for one device");
  std::optional<Partitioned> islands_only;
  if (!IslandsIn(module).empty()) {
    MW_ASSIGN_OR_RETURN(islands_only, PartitionIslandsOnly(module, split.mesh));
  }
  MW_ASSIGN_OR_RETURN(const auto whole,
                      islands_only.has_value()
                          ? MakeRunner(module, *islands_only, client.get())
                          : MakeLocalRunner(module, client.get()));
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
  MW_ASSIGN_OR_RETURN(const std::vector<double> whole_seconds,
                      RunSteps(*whole, options.steps, options.seed, progress));
  MW_ASSIGN_OR_RETURN(const std::vector<double> seconds,
                      RunSteps(*runner, options.steps, options.seed, progress));
  MW_RETURN_IF_ERROR(runner->CheckOutputCopies());
  MW_ASSIGN_OR_RETURN(
      const Errors errors,
      CompareOutputs(module, *whole, *runner, options.tolerance));
  MW_ASSIGN_OR_RETURN(const ProgramMemory memory,
                      runner->executor()->executables()[0]->Memory());
  MW_ASSIGN_OR_RETURN(
      const std::vector<Collective> compiled,
      CompiledCollectives(*runner->executor()->executables()[0], devices));
  const bool ok = errors.wrong.empty();
  if (options.json) {
    const Json json = {{"ok", ok},
                       {"max_abs_error", errors.absolute},
                       {"max_rel_error", errors.relative},
                       {"worst", errors.worst},
                       {"steps", options.steps},
                       {"devices", devices},
                       {"collectives", ToJson(compiled)},
                       {"without_dropout", without_dropout},
                       {"peak_bytes", memory.total_bytes()},
                       {"step_seconds", Median(seconds)},
                       {"one_device_step_seconds", Median(whole_seconds)}};
    absl::PrintF("%s\n", json.dump(2));
  } else {
    absl::PrintF("%s",
                 Verdict(errors, options, devices, split.mesh.ToString()));
    PrintCollectives(split.collectives);
    absl::PrintF("  %s per device, step %s (one device %s)\n",
                 FormatBytes(memory.total_bytes()),
                 FormatSeconds(Median(seconds)),
                 FormatSeconds(Median(whole_seconds)));
    if (without_dropout) absl::PrintF("%s", kWithoutDropout);
    if (islands_only.has_value()) {
      absl::PrintF(
          "  a shard_map region does not run on one device: compared with %d "
          "that split nothing else\n",
          islands_only->mesh.device_count());
    }
  }
  return ok ? absl::OkStatus() : absl::InternalError(errors.wrong);
}

}  // namespace

extern const Command kCheckCommand = {&Spec, &Run};

}  // namespace meshwright
