#include "meshwright/service/own_address.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/launch/host_port.h"

namespace meshwright {

absl::StatusOr<std::string> OwnAddressTowards(const std::string& peer) {
  MW_ASSIGN_OR_RETURN(const HostPort address, ParseAddress(peer));
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (const int error =
          getaddrinfo(address.host.c_str(), absl::StrCat(address.port).c_str(),
                      &hints, &found);
      error != 0) {
    return absl::UnavailableError(absl::StrCat(
        "host ", address.host, " is not known: ", gai_strerror(error)));
  }
  const absl::Cleanup free_found = [found] { freeaddrinfo(found); };
  for (const addrinfo* way = found; way != nullptr; way = way->ai_next) {
    // Connecting a datagram socket sends nothing, but chooses the interface.
    const int handle = socket(way->ai_family, way->ai_socktype, 0);
    if (handle < 0) continue;
    const absl::Cleanup close_handle = [handle] { close(handle); };
    sockaddr_storage own{};
    socklen_t size = sizeof(own);
    char host[NI_MAXHOST];
    if (connect(handle, way->ai_addr, way->ai_addrlen) == 0 &&
        getsockname(handle, reinterpret_cast<sockaddr*>(&own), &size) == 0 &&
        getnameinfo(reinterpret_cast<sockaddr*>(&own), size, host, sizeof(host),
                    nullptr, 0, NI_NUMERICHOST) == 0) {
      return std::string(host);
    }
  }
  return absl::UnavailableError(
      absl::StrCat("there is no way to host ", address.host));
}

}  // namespace meshwright
