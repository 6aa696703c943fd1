// Batches that are transferred while earlier steps run.
#include <iterator>
#include <mutex>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/runtime/job_runner.h"
#include "meshwright/runtime/synthetic_inputs.h"

namespace meshwright {

absl::Status JobRunner::Stage(int64_t batch, LentTensor tensor) {
  MW_ASSIGN_OR_RETURN(const int64_t number,
                      FindParameter(roles_, tensor.tensor.name));
  if (job_.parameters[number].is_state) {
    return absl::InvalidArgumentError(
        absl::StrCat("parameter ", tensor.tensor.name,
                     " is state, which steps compute: only data are staged"));
  }
  {
    const std::lock_guard lock(staged_mutex_);
    if (batch <= taken_) {
      return absl::InvalidArgumentError(
          absl::StrCat("batch ", batch,
                       " cannot be staged: steps have taken batch ", taken_));
    }
    if (staged_.size() >= kMaxStaged && !staged_.contains(batch)) {
      return absl::ResourceExhaustedError(absl::StrCat(
          staged_.size(), " batches are staged: steps must take one first"));
    }
    staged_[batch];
  }
  const absl::Status put = Put(number, std::move(tensor), batch);
  const std::lock_guard lock(staged_mutex_);
  if (put.ok()) {
    staged_[batch].insert(number);
  } else {
    staged_.erase(batch);
  }
  return put;
}

absl::Status JobRunner::TakeStaged(int64_t batch) {
  std::set<int64_t> parameters;
  {
    const std::lock_guard lock(staged_mutex_);
    const auto found = staged_.find(batch);
    if (found == staged_.end() || found->second.empty()) {
      return absl::NotFoundError(
          absl::StrCat("batch ", batch, " is not staged"));
    }
    for (const int64_t number : found->second) {
      MW_RETURN_IF_ERROR(CheckNotFed(number));
    }
    parameters = std::move(found->second);
    staged_.erase(staged_.begin(), std::next(found));
    taken_ = batch;
  }
  MW_RETURN_IF_ERROR(site_->TakeStaged(batch));
  for (const int64_t number : parameters) is_given_[number] = true;
  return absl::OkStatus();
}

}  // namespace meshwright
