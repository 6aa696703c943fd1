#include "meshwright/service/job_service.h"

#include <cstring>
#include <utility>

#include "meshwright/base/status_macros.h"
#include "meshwright/runtime/check_size.h"

namespace meshwright {

absl::Status MoveInto(const Wanted& wanted, Tensor& tensor) {
  if (wanted.owner == nullptr) return absl::OkStatus();
  MW_RETURN_IF_ERROR(
      CheckSize(tensor.name, tensor.data.size(), wanted.into.size()));
  if (!wanted.into.empty()) {
    std::memcpy(wanted.into.data(), tensor.data.data(), wanted.into.size());
  }
  tensor.data.clear();
  return absl::OkStatus();
}

absl::Status JobService::StepAndFetch(int64_t job, int64_t count,
                                      TensorSource& data, const StepSink& done,
                                      std::vector<Wanted> wanted,
                                      const TensorSink& sink, JobCall& call) {
  MW_RETURN_IF_ERROR(Step(job, count, data, done, call));
  if (wanted.empty()) return absl::OkStatus();
  return Fetch(job, std::move(wanted), sink, call);
}

}  // namespace meshwright
