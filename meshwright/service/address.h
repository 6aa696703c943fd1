// Where a server listens: "127.0.0.1:7777", "[::1]:7777", "host-3:7777".
#ifndef MESHWRIGHT_SERVICE_ADDRESS_H_
#define MESHWRIGHT_SERVICE_ADDRESS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace meshwright {

struct Address {
  std::string host;  // Without brackets.
  int port = 0;      // 0, to listen: any that is free.

  std::string ToString() const;  // Inverse of ParseAddress().
  bool operator==(const Address&) const = default;
};

// kInvalidArgument, with an example, for anything else than HOST:PORT.
absl::StatusOr<Address> ParseAddress(absl::string_view text);

// Whether only this machine reaches it: 127.0.0.0/8, ::1, localhost.
bool IsLoopback(const Address& address);

// Why nobody can be reached there: the host does not resolve, or nothing
// listens. OK when a connection is accepted. Waits a second at most.
absl::Status TryConnect(const Address& address);

// Whether a server answers there as HTTP/2 servers do without TLS. Also when it
// does not answer within a second; not when it refuses.
bool SpeaksHttp2(const Address& address);

// Why one cannot listen there: the port is in use, or the host is not this
// machine. OK when one can.
absl::Status TryListen(const Address& address);

}  // namespace meshwright

#endif  // MESHWRIGHT_SERVICE_ADDRESS_H_
