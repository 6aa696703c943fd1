#include "meshwright/runtime/running_step.h"

#include <cstddef>

#include "meshwright/base/status_macros.h"
#include "meshwright/hlo/literal.h"

namespace meshwright {

RunningStep::~RunningStep() {
  if (is_there_ != nullptr) is_there_->Await().IgnoreError();
}

absl::Status RunningStep::Fetch(const Buffer& loss) {
  loss_ = {.type = loss.shape().type, .dimensions = loss.shape().dimensions};
  loss_.data.resize(loss.shape().host_bytes());
  MW_ASSIGN_OR_RETURN(
      is_there_, loss.ToHost({reinterpret_cast<std::byte*>(loss_.data.data()),
                              loss_.data.size()}));
  return absl::OkStatus();
}

absl::Status RunningStep::AwaitLoss(std::optional<double>& value) {
  if (is_there_ == nullptr) return absl::OkStatus();
  MW_RETURN_IF_ERROR(is_there_->Await());
  value = AsLiteral(loss_).ElementAsDouble(0);
  return absl::OkStatus();
}

}  // namespace meshwright
