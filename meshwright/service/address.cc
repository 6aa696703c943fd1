#include "meshwright/service/address.h"

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"

namespace meshwright {
namespace {

constexpr int kWaitMillis = 1000;
constexpr int kBacklog = 64;

struct FreeAddresses {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

absl::StatusOr<Addresses> Resolve(const HostPort& address, int flags) {
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

// Closes itself.
class Socket {
 public:
  Socket(const addrinfo& to, int flags)
      : fd_(::socket(to.ai_family, to.ai_socktype | SOCK_CLOEXEC | flags, 0)) {}
  ~Socket() {
    if (fd_ >= 0) ::close(fd_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int fd() const { return fd_; }
  int Release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

bool IsReady(const Socket& socket, short events) {
  pollfd poll = {.fd = socket.fd(), .events = events, .revents = 0};
  return ::poll(&poll, 1, kWaitMillis) == 1;
}

// 0, or errno.
int Connect(const Socket& socket, const addrinfo& to) {
  if (::connect(socket.fd(), to.ai_addr, to.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  if (!IsReady(socket, POLLOUT)) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof(error);
  if (::getsockopt(socket.fd(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) {
    return errno;
  }
  return error;
}

// 0, or errno.
int Listen(const Socket& socket, const addrinfo& to) {
  const int on = 1;
  ::setsockopt(socket.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (::bind(socket.fd(), to.ai_addr, to.ai_addrlen) != 0) return errno;
  return ::listen(socket.fd(), kBacklog) == 0 ? 0 : errno;
}

absl::Status CannotListen(const HostPort& address, int error,
                          absl::string_view flags) {
  if (error == EADDRINUSE) {
    return absl::FailedPreconditionError(
        absl::StrCat("port ", address.port, " is in use on ", address.host,
                     "; choose another with ", flags));
  }
  if (error == EADDRNOTAVAIL) {
    return absl::InvalidArgumentError(
        absl::StrCat(address.host, " is not an address of this machine"));
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "cannot listen at ", address.ToString(), ": ", std::strerror(error)));
}

absl::StatusOr<Addresses> ResolveOwn(const HostPort& address) {
  auto list = Resolve(address, AI_PASSIVE);
  if (list.ok()) return list;
  return absl::InvalidArgumentError(list.status().message());
}

}  // namespace

absl::Status TryConnect(const HostPort& address) {
  MW_ASSIGN_OR_RETURN(const Addresses list, Resolve(address, 0));
  int error = 0;
  for (const addrinfo* to = list.get(); to != nullptr; to = to->ai_next) {
    error = Connect(Socket(*to, SOCK_NONBLOCK), *to);
    if (error == 0) return absl::OkStatus();
  }
  if (error == ECONNREFUSED) {
    return absl::UnavailableError(
        absl::StrCat("nothing listens at ", address.ToString()));
  }
  return absl::UnavailableError(absl::StrCat(
      address.ToString(), " cannot be reached: ", std::strerror(error)));
}

bool SpeaksHttp2(const HostPort& address) {
  // What clients begin with, and empty settings.
  static constexpr absl::string_view kPreface(
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", 33);
  const auto list = Resolve(address, 0);
  if (!list.ok()) return true;
  for (const addrinfo* to = list->get(); to != nullptr; to = to->ai_next) {
    const Socket socket(*to, SOCK_NONBLOCK);
    if (Connect(socket, *to) != 0) continue;
    if (::send(socket.fd(), kPreface.data(), kPreface.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(kPreface.size())) {
      continue;
    }
    // Its settings: three bytes of length, then the kind of frame.
    char answer[4] = {};
    if (!IsReady(socket, POLLIN)) return true;
    return ::recv(socket.fd(), answer, sizeof(answer), 0) == sizeof(answer) &&
           answer[0] == 0 && answer[3] == 4;
  }
  return true;
}

absl::StatusOr<int> ListenAt(const HostPort& address, absl::string_view flags) {
  MW_ASSIGN_OR_RETURN(const Addresses list, ResolveOwn(address));
  Socket socket(*list, SOCK_NONBLOCK);
  if (const int error = Listen(socket, *list); error != 0) {
    return CannotListen(address, error, flags);
  }
  return socket.Release();
}

absl::Status TryListen(const HostPort& address) {
  MW_ASSIGN_OR_RETURN(const Addresses list, ResolveOwn(address));
  for (const addrinfo* to = list.get(); to != nullptr; to = to->ai_next) {
    if (const int error = Listen(Socket(*to, 0), *to); error != 0) {
      return CannotListen(address, error, "--listen");
    }
  }
  return absl::OkStatus();
}

}  // namespace meshwright
