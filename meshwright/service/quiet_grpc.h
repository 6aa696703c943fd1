// gRPC's own log.
#ifndef MESHWRIGHT_SERVICE_QUIET_GRPC_H_
#define MESHWRIGHT_SERVICE_QUIET_GRPC_H_

namespace meshwright {

// Keeps gRPC from printing: what goes wrong comes as a status. $GRPC_VERBOSITY
// still makes it talk.
void QuietGrpc();

}  // namespace meshwright

#endif  // MESHWRIGHT_SERVICE_QUIET_GRPC_H_
