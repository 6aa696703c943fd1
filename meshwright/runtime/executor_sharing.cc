// State that an executor takes from other jobs.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/runtime/executor.h"

namespace meshwright {

absl::Status Executor::Adopt(Executor& init,
                             const std::vector<int64_t>& parameters) {
  if (parameters.size() != init.job().step.outputs.size()) {
    return absl::InvalidArgumentError("the state has other parameters");
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    const int64_t parameter = parameters[i];
    if (parameter < 0 || parameter >= std::ssize(job().parameters) ||
        job().step.homes[parameter] !=
            init.job().StageOfOutput(static_cast<int64_t>(i))) {
      return absl::InvalidArgumentError("the state lives elsewhere");
    }
    const StageId home = job().step.homes[parameter];
    if (programs_.own[home].empty()) continue;
    const auto found = init.outputs_.find(init.job().step.outputs[i].index);
    if (found == init.outputs_.end()) {
      return absl::FailedPreconditionError("no step has run");
    }
    inputs_.parameters[{parameter, home}] = {found->second};
  }
  is_given_ = false;
  outputs_.clear();
  return absl::OkStatus();
}

absl::Status Executor::ShareOn(StageId stage, const Executor& from,
                               const SharedParameter& pair) {
  const StageId home = from.job().step.homes[pair.from];
  const OwnDevices& own = programs_.own[stage];
  if (own.empty()) return absl::OkStatus();
  const auto found = from.inputs_.parameters.find({pair.from, home});
  if (found == from.inputs_.parameters.end()) {
    return absl::FailedPreconditionError(
        absl::StrCat("parameter \"", from.job().parameters[pair.from].name,
                     "\" has no value"));
  }
  const BufferShape shape{
      job().parameters[pair.to].shape.element_type,
      LocalDimensions(job().layout.parameters.at({pair.to, stage}),
                      job().layout.meshes[stage])};
  const SharedArray& array = found->second[0];
  if (own.devices != from.programs_.own[home].devices ||
      std::ranges::any_of(*array, [&](const BufferPtr& buffer) {
        return buffer == nullptr || buffer->shape() != shape;
      })) {
    return absl::InvalidArgumentError(
        absl::StrCat("parameter \"", job().parameters[pair.to].name,
                     "\" is sharded otherwise in the other job"));
  }
  inputs_.parameters[{pair.to, stage}] = {array};
  return absl::OkStatus();
}

absl::Status Executor::Share(const Executor& from,
                             const std::vector<SharedParameter>& pairs) {
  is_given_ = false;
  for (const SharedParameter& pair : pairs) {
    if (pair.from < 0 || pair.from >= std::ssize(from.job().parameters) ||
        pair.to < 0 || pair.to >= std::ssize(job().parameters) ||
        job().BatchDimOf(pair.to).has_value()) {
      return absl::InvalidArgumentError("there are no such parameters");
    }
    for (StageId stage{0}; stage < job().step.stages; ++stage) {
      if (!job().layout.parameters.contains({pair.to, stage}) ||
          (job().parameters[pair.to].is_state &&
           stage != job().step.homes[pair.to])) {
        continue;
      }
      MW_RETURN_IF_ERROR(ShareOn(stage, from, pair));
    }
  }
  return absl::OkStatus();
}

void Executor::Drop(const std::vector<int64_t>& parameters) {
  for (const int64_t parameter : parameters) {
    std::erase_if(inputs_.parameters, [&](const auto& one) {
      return one.first.first == parameter;
    });
    for (const NextValue& next : job().step.state) {
      const StageInput& output = job().step.outputs[next.output];
      if (next.parameter == parameter &&
          output.kind == StageInput::Kind::kValue) {
        outputs_.erase(output.index);
      }
    }
    is_given_ = false;
  }
}

}  // namespace meshwright
