// gRPC's global configuration for this program.
#ifndef MESHWRIGHT_SERVICE_PREPARE_GRPC_H_
#define MESHWRIGHT_SERVICE_PREPARE_GRPC_H_

namespace meshwright {

// Call before the first use; later calls do nothing. gRPC is never shut down:
// otherwise its last user would wait for its threads, up to ten seconds.
//
// gRPC and protobuf print nothing, since errors are returned as statuses,
// unless $GRPC_VERBOSITY is set.
void PrepareGrpc();

}  // namespace meshwright

#endif  // MESHWRIGHT_SERVICE_PREPARE_GRPC_H_
