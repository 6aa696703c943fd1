#include "meshwright/planner/stage_work.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/cost/device_clock.h"
#include "meshwright/cost/instruction_time.h"
#include "meshwright/cost/op_time.h"
#include "meshwright/cost/program_memory.h"
#include "meshwright/hlo/opcode_traits.h"
#include "meshwright/hlo/trip_count.h"
#include "meshwright/pipeline/stage_programs.h"
#include "meshwright/schedule/stage_edges.h"

namespace meshwright {
namespace {

using Kind = StageProgram::Kind;

// Runs the kernels of a program.
class KernelClock {
 public:
  KernelClock(const Module& module, const KernelTimes& times)
      : times_(times),
        entry_(*module.entry()),
        kernels_(KernelsOf(module, ModuleWork(module),
                           FusionStyleFor(times.is_cpu))) {
    const auto found = kernels_.find(&entry_);
    if (found != kernels_.end() &&
        std::ranges::any_of(found->second, [](const Kernel& kernel) {
          return IsControlFlow(kernel.root->opcode);
        })) {
      region_seconds_ =
          InstructionSeconds(module, times.rates, times.is_cpu, times.devices);
    }
  }

  DeviceClock Run() { return Run(entry_); }

 private:
  DeviceClock Run(const Computation& computation) {
    DeviceClock clock(times_.rates);
    const auto found = kernels_.find(&computation);
    if (found == kernels_.end()) return clock;
    const bool is_entry = &computation == &entry_;
    for (const Kernel& kernel : found->second) {
      const Instruction& root = *kernel.root;
      if (IsControlFlow(root.opcode)) {
        clock.RunRegion(0, is_entry ? region_seconds_[root.id] : 0,
                        HostSecondsOf(root));
      } else {
        clock.RunKernel(root, 0,
                        is_entry
                            ? KernelSeconds(kernel, times_.rates,
                                            static_cast<double>(times_.devices))
                            : 0);
      }
    }
    return clock;
  }

  HostSeconds HostSecondsOf(const Instruction& root) {
    HostSeconds sum;
    for (const Computation* called : CalledEachTime(root, times_.rates)) {
      const auto known = host_.find(called);
      sum += known != host_.end() ? known->second
                                  : host_[called] = Run(*called).host_seconds();
    }
    const int64_t times =
        root.opcode == Opcode::kWhile ? TripCount(root).value_or(1) : 1;
    return sum.Times(static_cast<double>(times));
  }

  const KernelTimes& times_;
  const Computation& entry_;
  const ProgramKernels kernels_;
  // Of control flow, by id of the entry; empty if there is none.
  std::vector<double> region_seconds_;
  absl::flat_hash_map<const Computation*, HostSeconds> host_;
};

ProgramWork KernelsOfPart(const Module& module, const KernelTimes& times) {
  const DeviceClock clock = KernelClock(module, times).Run();
  return {.seconds = clock.device_seconds(),
          .host_seconds = clock.host_seconds()};
}

ProgramWork WorkOf(const StageProgram& program, const KernelTimes& times) {
  DeviceClock clock = KernelClock(program.module, times).Run();
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
