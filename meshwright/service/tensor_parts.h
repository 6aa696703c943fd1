// Tensors as messages, in parts that fit.
#ifndef MESHWRIGHT_SERVICE_TENSOR_PARTS_H_
#define MESHWRIGHT_SERVICE_TENSOR_PARTS_H_

#include <cstdint>
#include <functional>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "meshwright/service/upload_budget.h"
#include "meshwright/state/tensor.h"
#include "proto/service.pb.h"

namespace meshwright {

// Calls `send` with each part; stops, with its error, when it fails.
// kInvalidArgument for a tensor whose type is not known.
absl::Status SendParts(
    const Tensor& tensor,
    const std::function<absl::Status(proto::NamedTensorPart)>& send);

// Puts parts together again.
class TensorAssembler {
 public:
  explicit TensorAssembler(UploadBudget* budget) : charge_(budget) {}

  // The tensor, when this was its last part. kInvalidArgument for what
  // SendParts does not send.
  absl::StatusOr<std::optional<Tensor>> Add(proto::NamedTensorPart part);
  // kInvalidArgument in the middle of a tensor.
  absl::Status End() const;

 private:
  absl::Status Begin(const proto::NamedTensorPart& part);

  UploadCharge charge_;
  std::optional<Tensor> tensor_;
  int64_t bytes_ = 0;  // When it is complete.
};

}  // namespace meshwright

#endif  // MESHWRIGHT_SERVICE_TENSOR_PARTS_H_
