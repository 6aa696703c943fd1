// Whether an address can be reached; sockets that listen.
#ifndef MESHWRIGHT_SERVICE_ADDRESS_H_
#define MESHWRIGHT_SERVICE_ADDRESS_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "meshwright/launch/host_port.h"

namespace meshwright {

// Why a connection is impossible: the host does not resolve, or nothing
// listens. OK if a connection is accepted. Waits at most a second.
absl::Status TryConnect(const HostPort& address);

// Whether a server there speaks HTTP/2 without TLS. Also true if it does not
// answer within a second; false if it refuses.
bool SpeaksHttp2(const HostPort& address);

// A non-blocking socket that listens there. Errors say why it is impossible:
// the port is in use (and which flags, "--listen", choose it), or the host is
// not this machine.
absl::StatusOr<int> ListenAt(const HostPort& address, absl::string_view flags);
// Whether it is possible.
absl::Status TryListen(const HostPort& address);

}  // namespace meshwright

#endif  // MESHWRIGHT_SERVICE_ADDRESS_H_
