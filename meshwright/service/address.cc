#include "meshwright/service/address.h"

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"

namespace meshwright {
namespace {

constexpr int kConnectMillis = 1000;

struct FreeAddresses {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

absl::StatusOr<Addresses> Resolve(const Address& address, int flags) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* list = nullptr;
  const int error = ::getaddrinfo(
      address.host.c_str(), absl::StrCat(address.port).c_str(), &hints, &list);
  if (error != 0) {
    return absl::UnavailableError(absl::StrCat(
        address.host, " does not resolve: ", ::gai_strerror(error)));
  }
  return Addresses(list);
}

// 0, or errno.
int Connect(const addrinfo& to) {
  const int socket =
      ::socket(to.ai_family, to.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket < 0) return errno;
  int error = ::connect(socket, to.ai_addr, to.ai_addrlen) == 0 ? 0 : errno;
  if (error == EINPROGRESS) {
    pollfd poll = {.fd = socket, .events = POLLOUT, .revents = 0};
    socklen_t size = sizeof(error);
    if (::poll(&poll, 1, kConnectMillis) != 1) {
      error = ETIMEDOUT;
    } else if (::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) != 0) {
      error = errno;
    }
  }
  ::close(socket);
  return error;
}

int Bind(const addrinfo& to) {
  const int socket = ::socket(to.ai_family, to.ai_socktype | SOCK_CLOEXEC, 0);
  if (socket < 0) return errno;
  const int on = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  int error = ::bind(socket, to.ai_addr, to.ai_addrlen) == 0 ? 0 : errno;
  if (error == 0 && ::listen(socket, 1) != 0) error = errno;
  ::close(socket);
  return error;
}

}  // namespace

std::string Address::ToString() const {
  return absl::StrContains(host, ':') ? absl::StrCat("[", host, "]:", port)
                                      : absl::StrCat(host, ":", port);
}

absl::StatusOr<Address> ParseAddress(absl::string_view text) {
  const absl::Status refused = absl::InvalidArgumentError(absl::StrCat(
      "\"", text, "\" is no address; write HOST:PORT, such as 127.0.0.1:7777"));
  const size_t colon = text.rfind(':');
  if (colon == absl::string_view::npos) return refused;
  absl::string_view host = text.substr(0, colon);
  const absl::string_view port = text.substr(colon + 1);
  const bool bracketed =
      host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) {
    host = host.substr(1, host.size() - 2);
  } else if (absl::StrContains(host, ':')) {
    return refused;
  }
  if (host.empty() ||
      host.find_first_of("/[]@% \t\n") != absl::string_view::npos) {
    return refused;
  }
  Address address = {.host = std::string(host)};
  if (port.empty() ||
      port.find_first_not_of("0123456789") != absl::string_view::npos ||
      !absl::SimpleAtoi(port, &address.port) || address.port > 65535) {
    return refused;
  }
  return address;
}

bool IsLoopback(const Address& address) {
  return address.host == "localhost" || address.host == "::1" ||
         (absl::StartsWith(address.host, "127.") &&
          address.host.find_first_not_of("0123456789.") == std::string::npos);
}

absl::Status TryConnect(const Address& address) {
  MW_ASSIGN_OR_RETURN(const Addresses list, Resolve(address, 0));
  int error = 0;
  for (const addrinfo* to = list.get(); to != nullptr; to = to->ai_next) {
    error = Connect(*to);
    if (error == 0) return absl::OkStatus();
  }
  if (error == ECONNREFUSED) {
    return absl::UnavailableError(
        absl::StrCat("nothing listens at ", address.ToString()));
  }
  return absl::UnavailableError(absl::StrCat(
      address.ToString(), " cannot be reached: ", std::strerror(error)));
}

absl::Status TryListen(const Address& address) {
  const auto list = Resolve(address, AI_PASSIVE);
  if (!list.ok()) {
    return absl::InvalidArgumentError(list.status().message());
  }
  for (const addrinfo* to = list->get(); to != nullptr; to = to->ai_next) {
    const int error = Bind(*to);
    if (error == 0) continue;
    if (error == EADDRINUSE) {
      return absl::FailedPreconditionError(
          absl::StrCat("port ", address.port, " is in use on ", address.host,
                       "; choose another with --listen"));
    }
    if (error == EADDRNOTAVAIL) {
      return absl::InvalidArgumentError(
          absl::StrCat(address.host, " is not an address of this machine"));
    }
    return absl::FailedPreconditionError(absl::StrCat(
        "cannot listen at ", address.ToString(), ": ", std::strerror(error)));
  }
  return absl::OkStatus();
}

}  // namespace meshwright
