// The logs of gRPC and protobuf.
#ifndef MESHWRIGHT_SERVICE_QUIET_GRPC_H_
#define MESHWRIGHT_SERVICE_QUIET_GRPC_H_

namespace meshwright {

// Keeps them from printing: what goes wrong comes as a status. With
// $GRPC_VERBOSITY they still do.
void QuietGrpc();

}  // namespace meshwright

#endif  // MESHWRIGHT_SERVICE_QUIET_GRPC_H_
