// Conversion between absl::Status and grpc::Status, whose codes are the same.
#ifndef MESHWRIGHT_SERVICE_GRPC_STATUS_H_
#define MESHWRIGHT_SERVICE_GRPC_STATUS_H_

#include "absl/status/status.h"

namespace grpc {
class Status;
}

namespace meshwright {

// Truncates messages that are too long for gRPC's trailers.
grpc::Status ToGrpc(const absl::Status& status);
absl::Status FromGrpc(const grpc::Status& status);
// Whether it was made by ToGrpc rather than gRPC itself.
bool IsOurs(const grpc::Status& status);

}  // namespace meshwright

#endif  // MESHWRIGHT_SERVICE_GRPC_STATUS_H_
