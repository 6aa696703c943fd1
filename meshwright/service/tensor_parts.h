// Tensors as messages, in parts of bounded size.
#ifndef MESHWRIGHT_SERVICE_TENSOR_PARTS_H_
#define MESHWRIGHT_SERVICE_TENSOR_PARTS_H_

#include <cstdint>
#include <functional>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "meshwright/service/regions.h"
#include "meshwright/service/upload_budget.h"
#include "meshwright/state/lent_tensor.h"
#include "meshwright/state/tensor.h"
#include "proto/service.pb.h"

namespace meshwright {

// Calls `send` with each part until it fails, and returns its error.
// kInvalidArgument for a tensor of unknown type.
absl::Status SendParts(
    const Tensor& tensor,
    const std::function<absl::Status(proto::NamedTensorPart)>& send);

// Without data: its bytes are in shared memory already.
absl::StatusOr<proto::NamedTensorPart> WholePart(const Tensor& tensor,
                                                 const proto::Region& region);

// Reassembles tensors from parts.
class TensorAssembler {
 public:
  // `regions`: where parts may be instead of bytes; null: nowhere.
  explicit TensorAssembler(UploadBudget* budget, Regions* regions = nullptr)
      : charge_(budget), regions_(regions) {}

  // The tensor, if this was its last part. kInvalidArgument for parts that
  // SendParts would not send.
  absl::StatusOr<std::optional<LentTensor>> Add(proto::NamedTensorPart part);
  // kInvalidArgument if a tensor is incomplete.
  absl::Status End() const;

 private:
  absl::Status Begin(const proto::NamedTensorPart& part);
  absl::StatusOr<LentTensor> Lend(const proto::NamedTensorPart& part);

  UploadCharge charge_;
  Regions* const regions_;
  std::optional<Tensor> tensor_;
  int64_t bytes_ = 0;  // Of the complete tensor.
};

}  // namespace meshwright

#endif  // MESHWRIGHT_SERVICE_TENSOR_PARTS_H_
