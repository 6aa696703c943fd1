#include "meshwright/planner/stage_work.h"

#include <optional>
#include <set>
#include <utility>

#include "meshwright/base/status_macros.h"
#include "meshwright/cost/device_clock.h"
#include "meshwright/cost/instruction_time.h"
#include "meshwright/cost/op_time.h"
#include "meshwright/cost/program_memory.h"
#include "meshwright/pipeline/stage_programs.h"
#include "meshwright/schedule/stage_edges.h"

namespace meshwright {
namespace {

using Kind = StageProgram::Kind;

// Runs the kernels of a program.
DeviceClock RunKernels(const Module& module, const KernelTimes& times) {
  const Computation& entry = *module.entry();
  const ProgramKernels kernels =
      KernelsOf(module, ModuleWork(module), FusionStyleFor(times.is_cpu));
  DeviceClock clock(times.rates);
  const auto found = kernels.find(&entry);
  if (found == kernels.end()) return clock;
  HostClock host(kernels, times.rates);
  std::vector<double> region_seconds;  // By id, if there is a region.
  for (const Kernel& kernel : found->second) {
    const Instruction& root = *kernel.root;
    const std::optional<HostSeconds> region = host.SecondsOfRegion(root);
    if (!region.has_value()) {
      clock.RunKernel(root, 0,
                      KernelSeconds(kernel, times.rates,
                                    static_cast<double>(times.devices)));
      continue;
    }
    if (region_seconds.empty()) {
      region_seconds =
          InstructionSeconds(module, times.rates, times.is_cpu, times.devices);
    }
    clock.RunRegion(0, region_seconds[root.id], *region);
  }
  return clock;
}

ProgramWork KernelsOfPart(const Module& module, const KernelTimes& times) {
  const DeviceClock clock = RunKernels(module, times);
  return {.seconds = clock.device_seconds(),
          .host_seconds = clock.host_seconds()};
}

ProgramWork WorkOf(const StageProgram& program, const KernelTimes& times) {
  DeviceClock clock = RunKernels(program.module, times);
  const size_t arrays = program.inputs.size() + program.results.size();
  ProgramWork work{.seconds = clock.device_seconds(),
                   .arrays = static_cast<double>(arrays)};
  work.array_seconds = clock.TakeArrays(arrays);
  work.host_seconds = clock.host_seconds();
  return work;
}

std::vector<SentValue> SentValues(const StagedStep& step) {
  std::vector<SentValue> sent;
  for (const StageValue& value : step.values) {
    const StageProgram& maker = step.programs[value.program];
    if (maker.kind == Kind::kApply || maker.kind == Kind::kStart) continue;
    std::set<StageId> to;
    for (const ProgramId user : value.users)
      to.insert(step.programs[user].stage);
    to.erase(maker.stage);
    for (const StageId stage : to) {
      sent.push_back({value.name, value.shape, maker.stage, stage});
    }
  }
  return sent;
}

}  // namespace

WholeWork WorkOfStep(const PipelineStep& step, const KernelTimes& times) {
  WholeWork work{.micro_batch = KernelsOfPart(step.micro_batch(), times),
                 .once = KernelsOfPart(step.split.apply.module, times)};
  const ProgramWork start = KernelsOfPart(step.split.start, times);
  work.once.seconds += start.seconds;
  work.once.host_seconds += start.host_seconds;
  return work;
}

absl::StatusOr<StepWork> WorkOfStages(const PipelineStep& step,
                                      const std::vector<StageId>& forward,
                                      int32_t stages,
                                      const KernelTimes& times) {
  MW_ASSIGN_OR_RETURN(const StagedStep staged,
                      MakeStagePrograms(step.split, {.stages = stages,
                                                     .forward = forward,
                                                     .state = step.state}));
  StepWork work{.stages = std::vector<StageWork>(stages),
                .sent = SentValues(staged),
                .edges = EdgesOf(staged)};
  for (const StageProgram& program : staged.programs) {
    if (program.round > 0) work.apply_after_all = true;
    const ProgramWork one = WorkOf(program, times);
    StageWork& stage = work.stages[program.stage];
    switch (program.kind) {
      case Kind::kForward:
        stage.forward = one;
        break;
      case Kind::kInput:
        stage.input_grad = one;
        break;
      case Kind::kWeight:
        stage.weight_grad = one;
        break;
      case Kind::kApply:
      case Kind::kStart:
        stage.once.push_back(one);
        break;
    }
  }
  return work;
}

}  // namespace meshwright
