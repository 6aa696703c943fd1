#include "meshwright/service/memory_shares.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"

namespace meshwright {
namespace {

constexpr size_t kMaxClients = 256;

absl::Status NotThere(absl::string_view what) {
  return absl::UnavailableError(absl::StrCat("no memory can be shared: ", what,
                                             ": ", std::strerror(errno)));
}

absl::StatusOr<std::string> MakeSecret() {
  std::string bytes(16, '\0');
  if (::getrandom(bytes.data(), bytes.size(), 0) != std::ssize(bytes)) {
    return NotThere("random numbers");
  }
  return absl::BytesToHexString(bytes);
}

absl::Status Bind(int fd, const std::string& name) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  // The first byte, 0, makes the name abstract: no file.
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto size =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (::bind(fd, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::listen(fd, 16) != 0) {
    return NotThere("its socket");
  }
  return absl::OkStatus();
}

bool IsOfThisUser(int fd) {
  ucred peer = {};
  socklen_t size = sizeof(peer);
  return ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         peer.uid == ::geteuid();
}

// -1 if none comes with the next byte, or there is none.
int ReceiveFile(int fd) {
  char byte = 0;
  iovec data = {.iov_base = &byte, .iov_len = 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  if (::recvmsg(fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) != 1) return -1;
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_level != SOL_SOCKET ||
      header->cmsg_type != SCM_RIGHTS ||
      header->cmsg_len != CMSG_LEN(sizeof(int))) {
    return -1;
  }
  int file = -1;
  std::memcpy(&file, CMSG_DATA(header), sizeof(file));
  return file;
}

}  // namespace

absl::StatusOr<std::unique_ptr<MemoryShares>> MemoryShares::Start() {
  MW_ASSIGN_OR_RETURN(const std::string secret, MakeSecret());
  const std::string name = absl::StrCat("meshwright-", secret);
  const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener < 0) return NotThere("its socket");
  absl::Cleanup close = [listener] { ::close(listener); };
  MW_RETURN_IF_ERROR(Bind(listener, name));
  const int end = ::eventfd(0, EFD_CLOEXEC);
  if (end < 0) return NotThere("its event");
  std::move(close).Cancel();
  return std::unique_ptr<MemoryShares>(new MemoryShares(listener, end, name));
}

MemoryShares::MemoryShares(int listener, int end, std::string name)
    : listener_(listener),
      end_(end),
      name_(std::move(name)),
      thread_([this] { Serve(); }) {}

MemoryShares::~MemoryShares() {
  ::eventfd_write(end_, 1);
  thread_.join();
  ::close(listener_);
  ::close(end_);
}

std::shared_ptr<const SharedMemory> MemoryShares::Find(
    absl::string_view key) const {
  const std::lock_guard lock(mutex_);
  const auto found = memories_.find(key);
  return found == memories_.end() ? nullptr : found->second;
}

void MemoryShares::Serve() {
  while (true) {
    std::vector<pollfd> polled = {
        {.fd = end_, .events = POLLIN, .revents = 0},
        {.fd = listener_, .events = POLLIN, .revents = 0}};
    for (const auto& [fd, key] : connections_) {
      polled.push_back({.fd = fd, .events = POLLIN, .revents = 0});
    }
    if (::poll(polled.data(), polled.size(), -1) < 0 && errno != EINTR) break;
    if (polled[0].revents != 0) break;
    if (polled[1].revents != 0) Accept();
    for (size_t i = 2; i < polled.size(); ++i) {
      const int fd = polled[i].fd;
      if (polled[i].revents == 0 || Receive(fd)) continue;
      {
        const std::lock_guard lock(mutex_);
        memories_.erase(connections_[fd]);
      }
      connections_.erase(fd);
      ::close(fd);
    }
  }
  for (const auto& [fd, key] : connections_) ::close(fd);
}

void MemoryShares::Accept() {
  const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (fd < 0) return;
  if (connections_.size() < kMaxClients && IsOfThisUser(fd)) {
    connections_[fd] = "";
  } else {
    ::close(fd);
  }
}

bool MemoryShares::Receive(int fd) {
  // A client that has a key says no more.
  if (!connections_[fd].empty()) return false;
  const int file = ReceiveFile(fd);
  if (file < 0) return false;
  absl::StatusOr<std::shared_ptr<const SharedMemory>> memory =
      SharedMemory::Open(file);
  const absl::StatusOr<std::string> key = MakeSecret();
  if (!memory.ok() || !key.ok()) return false;
  {
    const std::lock_guard lock(mutex_);
    memories_[*key] = *std::move(memory);
  }
  connections_[fd] = *key;
  return ::send(fd, key->data(), key->size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
         std::ssize(*key);
}

}  // namespace meshwright
