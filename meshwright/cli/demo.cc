// meshwright demo: trains the embedded character-level GPT on real text.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "meshwright/analysis/flops.h"
#include "meshwright/analysis/summary.h"
#include "meshwright/base/median.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/base/stopwatch.h"
#include "meshwright/base/units.h"
#include "meshwright/cli/commands.h"
#include "meshwright/cli/device_client.h"
#include "meshwright/hlo/read_module.h"
#include "meshwright/hlo/verify.h"
#include "meshwright/runtime/step_runner.h"
#include "meshwright/state/tensor_file.h"

extern "C" {
extern const char mw_demo_module_begin[], mw_demo_module_end[];
extern const char mw_demo_state_begin[], mw_demo_state_end[];
extern const char mw_demo_text_begin[], mw_demo_text_end[];
}

namespace meshwright {
namespace {

constexpr int64_t kDefaultSteps = 20;

const CommandSpec& Spec() {
  static const auto* const spec = new CommandSpec{
      .name = "demo",
      .summary = "train a small GPT on real text, on real XLA, here and now",
      .positional = {},
      .flags = {{"steps", "K", "how many steps (default 20)"},
                {"platform", "NAME", "cpu, cuda, tpu (default: the fastest)"}}};
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

void PrintStep(int64_t step, const StepResult& result, double first_loss) {
  const double share = std::clamp(*result.loss / first_loss, 0.0, 1.0);
  const auto width = static_cast<size_t>(std::lround(40 * share));
  absl::PrintF("  step %2d  loss %.4f  %9s  %s\n", step + 1, *result.loss,
               FormatSeconds(result.seconds), std::string(width, '#'));
  std::fflush(stdout);
}

absl::Status Train(const Module& module, int64_t steps, StepRunner* runner) {
  std::vector<double> seconds;
  double first_loss = 0;
  double last_loss = 0;
  for (int64_t step = 0; step < steps; ++step) {
    MW_RETURN_IF_ERROR(runner->Set(TextBatch(module, runner->roles(), step)));
    MW_ASSIGN_OR_RETURN(const StepResult result, runner->Step());
    if (step == 0) first_loss = *result.loss;
    last_loss = *result.loss;
    seconds.push_back(result.seconds);
    PrintStep(step, result, first_loss);
  }
  absl::PrintF("loss %.4f -> %.4f in %d steps, %s a step (median)\n",
               first_loss, last_loss, steps, FormatSeconds(Median(seconds)));
  return absl::OkStatus();
}

absl::Status Run(const CommandLine& line) {
  MW_ASSIGN_OR_RETURN(const int64_t steps,
                      line.Integer("steps", kDefaultSteps, {1, 1'000'000}));
  MW_ASSIGN_OR_RETURN(
      const Module module,
      ReadModule(Embedded(mw_demo_module_begin, mw_demo_module_end)));
  MW_RETURN_IF_ERROR(Verify(module));
  Describe(module, AnalyzeRoles(module));
  MW_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client,
                      MakeClient(line.Text("platform", ""), 1));
  const Stopwatch compile_time;
  MW_ASSIGN_OR_RETURN(const std::unique_ptr<StepRunner> runner,
                      StepRunner::Create(module, client.get()));
  absl::PrintF("compiled by XLA for %s in %s; training on %s of text\n",
               client->devices()[0]->kind(),
               FormatSeconds(compile_time.seconds()),
               FormatBytes(mw_demo_text_end - mw_demo_text_begin));
  MW_ASSIGN_OR_RETURN(
      std::vector<Tensor> state,
      ParseTensors(Embedded(mw_demo_state_begin, mw_demo_state_end)));
  MW_RETURN_IF_ERROR(runner->Set(std::move(state)));
  return Train(module, steps, runner.get());
}

}  // namespace

extern const Command kDemoCommand = {&Spec, &Run};

}  // namespace meshwright
