// Tensors on their way to a client, in messages or in the memory it shares.
#ifndef MESHWRIGHT_SERVICE_TENSOR_SENDER_H_
#define MESHWRIGHT_SERVICE_TENSOR_SENDER_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "meshwright/service/job_service.h"
#include "meshwright/service/regions.h"
#include "meshwright/state/tensor.h"
#include "proto/service.pb.h"

namespace meshwright {

using RegionList = google::protobuf::RepeatedPtrField<proto::Region>;

// Takes them in the order in which the client named them.
class TensorSender {
 public:
  using Send = std::function<absl::Status(proto::NamedTensorPart)>;

  // `into` must outlive it.
  TensorSender(const RegionList& into, Send send)
      : into_(into), send_(std::move(send)) {}

  absl::Status Add(const Tensor& tensor);

 private:
  const RegionList& into_;
  const Send send_;
  int next_ = 0;
};

// What a client asks for by name, and where it wants it. kInvalidArgument for
// regions that are not there.
absl::StatusOr<std::vector<Wanted>> WantedOf(
    const google::protobuf::RepeatedPtrField<std::string>& names,
    const RegionList& into, const Regions& regions);

}  // namespace meshwright

#endif  // MESHWRIGHT_SERVICE_TENSOR_SENDER_H_
