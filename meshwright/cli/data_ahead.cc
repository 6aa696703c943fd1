#include "meshwright/cli/data_ahead.h"

#include <algorithm>
#include <string>
#include <thread>

#include "meshwright/base/status_macros.h"

namespace meshwright {
namespace {

bool IsState(const ModuleRoles& roles, const std::string& name) {
  const auto found =
      std::ranges::find(roles.parameters, name, &ParameterInfo::name);
  return found != roles.parameters.end() &&
         found->role == ParameterRole::kState;
}

}  // namespace

DataAhead::DataAhead(const std::vector<std::vector<Tensor>>& data,
                     int64_t first, int64_t steps, Runner* runner)
    : data_(data), first_(first), steps_(steps), runner_(*runner) {
  // State that is given replaces what the step before has computed.
  can_stage_ =
      !data.empty() && std::ranges::none_of(data, [&](const auto& tensors) {
        return tensors.empty() ||
               std::ranges::any_of(tensors, [&](const Tensor& tensor) {
                 return IsState(runner->roles(), tensor.name);
               });
      });
}

absl::Status DataAhead::Give(int64_t step) {
  if (data_.empty()) return absl::OkStatus();
  if (step == staged_) return runner_.TakeStaged(NumberOf(step));
  return runner_.Set(data_[step % data_.size()]);
}

absl::Status DataAhead::Stage(int64_t step) {
  for (const Tensor& tensor : data_[step % data_.size()]) {
    MW_RETURN_IF_ERROR(runner_.Stage(NumberOf(step), {.tensor = tensor}));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<StepResult>> DataAhead::Run(int64_t count,
                                                       int64_t next) {
  if (!can_stage_ || next >= steps_) return runner_.Steps(count);
  absl::Status staged;
  std::thread source([&] { staged = Stage(next); });
  absl::StatusOr<std::vector<StepResult>> results = runner_.Steps(count);
  source.join();
  // Otherwise they are set, and what is wrong with them is that step's error.
  if (staged.ok()) staged_ = next;
  return results;
}

}  // namespace meshwright
