// gRPC as this program uses it.
#ifndef MESHWRIGHT_SERVICE_PREPARE_GRPC_H_
#define MESHWRIGHT_SERVICE_PREPARE_GRPC_H_

namespace meshwright {

// Before the first use; later calls do nothing. gRPC stays until the process
// ends: its last user would otherwise wait for its threads, up to ten seconds.
//
// gRPC and protobuf do not print: what goes wrong comes as a status. With
// $GRPC_VERBOSITY they do.
void PrepareGrpc();

}  // namespace meshwright

#endif  // MESHWRIGHT_SERVICE_PREPARE_GRPC_H_
