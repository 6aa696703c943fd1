// "host:port", as coordinators and workers are addressed.
//
//   ParseHostPort("gpu02:7777")    // {"gpu02", 7777}
//   ParseHostPort("[fe80::1]:80")  // {"fe80::1", 80}; ToString() adds them
#ifndef MESHWRIGHT_LAUNCH_HOST_PORT_H_
#define MESHWRIGHT_LAUNCH_HOST_PORT_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace meshwright {

// Where `meshwright serve` listens unless told otherwise.
inline constexpr int kCoordinatorPort = 7777;

struct HostPort {
  std::string host;
  int port = 0;

  std::string ToString() const;
  // Whether only this machine reaches it: 127.0.0.0/8, ::1, localhost.
  bool IsLoopback() const;

  bool operator==(const HostPort&) const = default;
};

// Without a port it is `default_port`; 0 demands one. kInvalidArgument, naming
// the text, for what is no host (spaces, quotes, a leading '-') or no port.
absl::StatusOr<HostPort> ParseHostPort(absl::string_view text,
                                       int default_port = 0);

// With a port, which may be 0: where one listens, any that is free.
// kInvalidArgument, with an example, for anything else than HOST:PORT.
absl::StatusOr<HostPort> ParseAddress(absl::string_view text);

}  // namespace meshwright

#endif  // MESHWRIGHT_LAUNCH_HOST_PORT_H_
