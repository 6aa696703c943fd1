// Checks that a job received from elsewhere can be run without further checks.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/mesh/sharding_text.h"
#include "meshwright/runtime/job.h"

namespace meshwright {
namespace {

absl::Status Wrong(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("the job has a wrong ", what));
}

template <typename List>
bool IsIndex(int64_t index, const List& list) {
  return index >= 0 && index < std::ssize(list);
}

absl::Status CheckInput(const StageInput& input, const Job& job) {
  switch (input.kind) {
    case StageInput::Kind::kParameter:
      if (IsIndex(input.index, job.parameters)) return absl::OkStatus();
      break;
    case StageInput::Kind::kMicroBatch:
      return absl::OkStatus();
    case StageInput::Kind::kAccumulator:
      if (IsIndex(input.index, job.step.accumulators)) return absl::OkStatus();
      break;
    case StageInput::Kind::kValue:
      if (IsIndex(input.index, job.step.values)) return absl::OkStatus();
      break;
  }
  return Wrong("input");
}

absl::Status CheckPrograms(const Job& job) {
  const StagedStep& step = job.step;
  for (const StageProgram& program : step.programs) {
    if (program.stage < 0 || program.stage >= step.stages) {
      return Wrong("stage");
    }
    for (const StageInput& input : program.inputs) {
      MW_RETURN_IF_ERROR(CheckInput(input, job));
      const std::pair<int64_t, StageId> key = {input.index, program.stage};
      const bool is_laid_out = input.kind == StageInput::Kind::kMicroBatch ||
                               (input.kind == StageInput::Kind::kParameter
                                    ? job.layout.parameters.contains(key)
                                : input.kind == StageInput::Kind::kValue
                                    ? job.layout.values.contains(key)
                                    : job.layout.accumulators.contains(key));
      if (!is_laid_out) return Wrong("layout");
    }
    for (const int32_t result : program.results) {
      if (!IsIndex(result, step.values)) return Wrong("result");
    }
  }
  for (const StageValue& value : step.values) {
    if (!IsIndex(value.program, step.programs)) return Wrong("value");
    for (const ProgramId user : value.users) {
      if (!IsIndex(user, step.programs)) return Wrong("user");
    }
    if (value.accumulator.has_value() &&
        !IsIndex(*value.accumulator, step.accumulators)) {
      return Wrong("accumulator");
    }
  }
  for (const StageAccumulator& accumulator : step.accumulators) {
    if (accumulator.stage < 0 || accumulator.stage >= step.stages) {
      return Wrong("accumulator");
    }
  }
  return absl::OkStatus();
}

// `shapes` by index: the dimensions of the arrays that have these shardings;
// for parameters that are split into micro-batches, those of a part.
absl::Status CheckLayouts(const StageShardings& layouts, const Job& job,
                          int64_t count) {
  for (const auto& [key, sharding] : layouts) {
    const auto& [index, stage] = key;
    if (index < 0 || index >= count || stage < 0 || stage >= job.step.stages) {
      return Wrong("layout");
    }
    const Mesh& mesh = job.layout.meshes[stage];
    for (const DimSharding& dim : sharding.dims) {
      if (dim.empty()) return Wrong("layout");
      for (const Part& part : dim) {
        if (part.size < 0) return Wrong("layout");
        for (const AxisId axis : part.axes) {
          if (!IsIndex(axis, mesh.sub_axes())) return Wrong("layout");
        }
      }
    }
    MW_RETURN_IF_ERROR(
        Annotate(CheckSharding(sharding, GlobalDimensions(sharding), mesh,
                               /*allow_uneven=*/true),
                 "the job has a wrong layout"));
  }
  return absl::OkStatus();
}

absl::Status CheckPlaces(const Job& job) {
  const size_t stages = job.step.stages;
  if (job.step.stages < 1 || job.step.micro_batches < 1 ||
      job.layout.meshes.size() != stages || job.devices.size() != stages ||
      job.timetable.rank_of_stage.size() != stages) {
    return Wrong("number of stages");
  }
  for (size_t stage = 0; stage < stages; ++stage) {
    if (!IsIndex(job.timetable.rank_of_stage[stage], job.timetable.rows)) {
      return Wrong("rank");
    }
    if (std::ssize(job.devices[stage]) !=
        job.layout.meshes[stage].device_count()) {
      return Wrong("number of devices");
    }
    for (const DeviceAt& at : job.devices[stage]) {
      if (at.worker < 0 || at.device < 0) return Wrong("device");
    }
  }
  for (const std::vector<Action>& row : job.timetable.rows) {
    for (const Action& action : row) {
      if (action.stage < 0 || action.stage >= job.step.stages ||
          action.micro_batch < 0 ||
          action.micro_batch >= job.step.micro_batches) {
        return Wrong("action");
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckJob(const Job& job) {
  MW_RETURN_IF_ERROR(CheckPlaces(job));
  MW_RETURN_IF_ERROR(CheckPrograms(job));
  const StagedStep& step = job.step;
  MW_RETURN_IF_ERROR(
      CheckLayouts(job.layout.parameters, job, std::ssize(job.parameters)));
  MW_RETURN_IF_ERROR(
      CheckLayouts(job.layout.at_work, job, std::ssize(job.parameters)));
  MW_RETURN_IF_ERROR(
      CheckLayouts(job.layout.values, job, std::ssize(step.values)));
  MW_RETURN_IF_ERROR(CheckLayouts(job.layout.accumulators, job,
                                  std::ssize(step.accumulators)));
  for (const auto& [key, sharding] : job.layout.at_work) {
    if (!job.layout.parameters.contains(key)) return Wrong("layout");
  }
  if (step.homes.size() != job.parameters.size()) return Wrong("home");
  for (size_t i = 0; i < step.homes.size(); ++i) {
    if (step.homes[i] < 0 || step.homes[i] >= step.stages) return Wrong("home");
  }
  for (const StageInput& output : step.outputs) {
    MW_RETURN_IF_ERROR(CheckInput(output, job));
    if (output.kind != StageInput::Kind::kParameter &&
        output.kind != StageInput::Kind::kValue) {
      return Wrong("output");
    }
  }
  for (size_t i = 0; i < step.outputs.size(); ++i) {
    const auto number = static_cast<int64_t>(i);
    const StageInput& output = step.outputs[i];
    const StageShardings& layouts = output.kind == StageInput::Kind::kParameter
                                        ? job.layout.parameters
                                        : job.layout.values;
    if (!layouts.contains({output.index, job.StageOfOutput(number)})) {
      return Wrong("output");
    }
  }
  for (const NextValue& next : step.state) {
    if (!IsIndex(next.parameter, job.parameters) ||
        !IsIndex(next.output, step.outputs)) {
      return Wrong("state");
    }
  }
  if (job.loss.has_value() && !IsIndex(*job.loss, step.outputs)) {
    return Wrong("loss");
  }
  return absl::OkStatus();
}

}  // namespace meshwright
