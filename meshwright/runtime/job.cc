#include "meshwright/runtime/job.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/analysis/roles.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/schedule/stage_edges.h"
#include "meshwright/schedule/validate.h"

namespace meshwright {
namespace {

StagedStep WithoutModules(const StagedStep& step) {
  StagedStep copy{.stages = step.stages,
                  .micro_batches = step.micro_batches,
                  .values = step.values,
                  .accumulators = step.accumulators,
                  .homes = step.homes,
                  .outputs = step.outputs,
                  .state = step.state};
  for (const StageProgram& program : step.programs) {
    copy.programs.push_back({.kind = program.kind,
                             .stage = program.stage,
                             .round = program.round,
                             .module = Module(program.module.name()),
                             .inputs = program.inputs,
                             .results = program.results});
  }
  return copy;
}

}  // namespace

int Job::workers() const {
  int count = 1;
  for (const std::vector<DeviceAt>& stage : devices) {
    for (const DeviceAt& at : stage) count = std::max(count, at.worker + 1);
  }
  return count;
}

bool Job::SpansWorkers() const {
  return std::ranges::any_of(devices, [](const std::vector<DeviceAt>& stage) {
    return std::ranges::any_of(stage, [&](const DeviceAt& at) {
      return at.worker != stage[0].worker;
    });
  });
}

int64_t Job::device_count() const {
  int64_t count = 0;
  std::set<int> counted;
  for (StageId stage{0}; stage < step.stages; ++stage) {
    if (counted.insert(timetable.rank_of_stage[stage]).second) {
      count += layout.meshes[stage].device_count();
    }
  }
  return count;
}

StageId Job::StageOfOutput(int64_t index) const {
  const StageInput& output = step.outputs[index];
  return output.kind == StageInput::Kind::kParameter
             ? step.homes[output.index]
             : step.programs[step.values[output.index].program].stage;
}

const Sharding& Job::ShardingOfOutput(int64_t index) const {
  const StageInput& output = step.outputs[index];
  const StageShardings& shardings = output.kind == StageInput::Kind::kParameter
                                        ? layout.parameters
                                        : layout.values;
  return shardings.at({output.index, StageOfOutput(index)});
}

std::optional<int64_t> Job::BatchDimOf(int64_t parameter) const {
  for (const StageProgram& program : step.programs) {
    for (const StageInput& input : program.inputs) {
      if (input.kind == StageInput::Kind::kParameter &&
          input.index == parameter && input.batch_dim.has_value()) {
        return input.batch_dim;
      }
    }
  }
  return std::nullopt;
}

absl::Status CheckTimetable(const Timetable& timetable,
                            const StagedStep& step) {
  if (timetable.stages() != step.stages ||
      timetable.micro_batches != step.micro_batches) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the timetable is for ", timetable.stages(), " stages and ",
        timetable.micro_batches, " micro-batches, the step has ", step.stages,
        " and ", step.micro_batches));
  }
  PipelineCosts costs = EvenCosts(step.stages, {});
  costs.edges = EdgesOf(step);
  return Validate(timetable, costs);
}

absl::StatusOr<JobSource> MakeJob(const Module& module, const StagedStep& step,
                                  const StagedLayout& layout,
                                  Timetable timetable) {
  MW_RETURN_IF_ERROR(CheckTimetable(timetable, step));
  JobSource made{.job = {.step = WithoutModules(step),
                         .layout = {.meshes = layout.meshes,
                                    .parameters = layout.parameters,
                                    .at_work = layout.at_work,
                                    .values = layout.values,
                                    .accumulators = layout.accumulators},
                         .timetable = std::move(timetable)}};
  for (const Partitioned& program : layout.programs) {
    made.modules.push_back(&program.module);
  }
  const ModuleRoles roles = AnalyzeRoles(module);
  made.job.loss = roles.loss;
  for (const Instruction* parameter : module.entry()->Parameters()) {
    const ParameterInfo& info =
        roles.parameters[parameter->attributes->parameter_number];
    made.job.parameters.push_back(
        {.name = info.name,
         .shape = parameter->shape,
         .is_state = info.role == ParameterRole::kState});
  }
  // State that no program reads is kept nevertheless.
  for (const StageInput& output : step.outputs) {
    if (output.kind != StageInput::Kind::kParameter) continue;
    made.job.layout.parameters.try_emplace(
        {output.index, step.homes[output.index]},
        Sharding::Replicated(
            made.job.parameters[output.index].shape.dimensions));
  }
  return made;
}

absl::Status PlaceJob(absl::Span<const int64_t> devices, Job& job) {
  std::vector<DeviceAt> all;
  for (size_t worker = 0; worker < devices.size(); ++worker) {
    for (int64_t device = 0; device < devices[worker]; ++device) {
      all.push_back(
          {static_cast<int32_t>(worker), static_cast<int32_t>(device)});
    }
  }
  const int64_t needed = job.device_count();
  if (needed > std::ssize(all)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the step needs ", needed, " devices, there are ", all.size()));
  }
  std::vector<std::vector<DeviceAt>> of_rank(job.timetable.ranks());
  auto next = all.begin();
  job.devices.clear();
  for (StageId stage{0}; stage < job.step.stages; ++stage) {
    const int64_t count = job.layout.meshes[stage].device_count();
    std::vector<DeviceAt>& own = of_rank[job.timetable.rank_of_stage[stage]];
    if (own.empty()) {
      own.assign(next, next + count);
      next += count;
    } else if (std::ssize(own) != count) {
      return absl::InvalidArgumentError(
          absl::StrCat("stage ", int{stage}, " has ", count,
                       " devices, others on its rank ", own.size()));
    }
    job.devices.push_back(own);
  }
  return absl::OkStatus();
}

absl::Status ErrorOf(const Job& job, ProgramId program,
                     const absl::Status& error) {
  if (job.step.programs.size() == 1) return error;
  return Annotate(error, job.step.programs[program].Name());
}

}  // namespace meshwright
