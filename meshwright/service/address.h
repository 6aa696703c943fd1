// Whether an address can be reached, or listened on.
#ifndef MESHWRIGHT_SERVICE_ADDRESS_H_
#define MESHWRIGHT_SERVICE_ADDRESS_H_

#include "absl/status/status.h"
#include "meshwright/launch/host_port.h"

namespace meshwright {

// Why a connection is impossible: the host does not resolve, or nothing
// listens. OK if a connection is accepted. Waits at most a second.
absl::Status TryConnect(const HostPort& address);

// Whether a server there speaks HTTP/2 without TLS. Also true if it does not
// answer within a second; false if it refuses.
bool SpeaksHttp2(const HostPort& address);

// Why listening is impossible: the port is in use, or the host is not this
// machine. OK if it is possible.
absl::Status TryListen(const HostPort& address);

}  // namespace meshwright

#endif  // MESHWRIGHT_SERVICE_ADDRESS_H_
