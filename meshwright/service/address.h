// Whether one can be reached, or can listen, at an address.
#ifndef MESHWRIGHT_SERVICE_ADDRESS_H_
#define MESHWRIGHT_SERVICE_ADDRESS_H_

#include "absl/status/status.h"
#include "meshwright/launch/host_port.h"

namespace meshwright {

// Why nobody can be reached there: the host does not resolve, or nothing
// listens. OK when a connection is accepted. Waits a second at most.
absl::Status TryConnect(const HostPort& address);

// Whether a server answers there as HTTP/2 servers do without TLS. Also when it
// does not answer within a second; not when it refuses.
bool SpeaksHttp2(const HostPort& address);

// Why one cannot listen there: the port is in use, or the host is not this
// machine. OK when one can.
absl::Status TryListen(const HostPort& address);

}  // namespace meshwright

#endif  // MESHWRIGHT_SERVICE_ADDRESS_H_
