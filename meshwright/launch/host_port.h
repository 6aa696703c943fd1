// "host:port", the addresses of coordinators and workers.
//
//   ParseHostPort("gpu02:7777")    // {"gpu02", 7777}
//   ParseHostPort("[fe80::1]:80")  // {"fe80::1", 80}; ToString() adds them
#ifndef MESHWRIGHT_LAUNCH_HOST_PORT_H_
#define MESHWRIGHT_LAUNCH_HOST_PORT_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace meshwright {

// The default port of `meshwright serve`.
inline constexpr int kCoordinatorPort = 7777;

struct HostPort {
  std::string host;
  int port = 0;

  std::string ToString() const;
  // Whether it is reachable from this machine only: 127.0.0.0/8, ::1,
  // localhost.
  bool IsLoopback() const;

  bool operator==(const HostPort&) const = default;
};

// Without a port, `default_port`; if that is 0, a port is required.
// kInvalidArgument, naming the text, for an invalid host (spaces, quotes, a
// leading '-') or port.
absl::StatusOr<HostPort> ParseHostPort(absl::string_view text,
                                       int default_port = 0);

// A port is required, and may be 0: listen on any free one. kInvalidArgument,
// with an example, for anything other than HOST:PORT.
absl::StatusOr<HostPort> ParseAddress(absl::string_view text);

}  // namespace meshwright

#endif  // MESHWRIGHT_LAUNCH_HOST_PORT_H_
