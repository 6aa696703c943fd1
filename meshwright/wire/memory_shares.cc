#include "meshwright/wire/memory_shares.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>
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
constexpr size_t kKeySize = 32;
constexpr timeval kAnswerTime = {.tv_sec = 5, .tv_usec = 0};

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

// As bind and connect.
int AtName(int (*call)(int, const sockaddr*, socklen_t), int fd,
           absl::string_view name) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (name.size() >= sizeof(address.sun_path)) return -1;
  // The first byte, 0, makes the name abstract: no file.
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto size =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return call(fd, reinterpret_cast<sockaddr*>(&address), size);
}

bool IsOfThisUser(int fd) {
  ucred peer = {};
  socklen_t size = sizeof(peer);
  return ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         peer.uid == ::geteuid();
}

// Bytes that may bring a file.
struct Message {
  iovec data;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header = {};

  Message(void* bytes, size_t size)
      : data({.iov_base = bytes, .iov_len = size}) {
    header.msg_iov = &data;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof(control);
  }
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;
};

struct Received {
  std::string bytes;  // None: the connection is over.
  int file = -1;
};

Received Receive(int fd, int flags) {
  char bytes[kKeySize] = {};
  Message message(bytes, sizeof(bytes));
  const ssize_t size = ::recvmsg(fd, &message.header, MSG_CMSG_CLOEXEC | flags);
  if (size <= 0) return {};
  Received received{.bytes = std::string(bytes, static_cast<size_t>(size))};
  const cmsghdr* const header = CMSG_FIRSTHDR(&message.header);
  if (header != nullptr && header->cmsg_level == SOL_SOCKET &&
      header->cmsg_type == SCM_RIGHTS &&
      header->cmsg_len == CMSG_LEN(sizeof(int))) {
    std::memcpy(&received.file, CMSG_DATA(header), sizeof(received.file));
  }
  return received;
}

void SendFile(int fd, int file) {
  char byte = 'm';
  Message message(&byte, 1);
  cmsghdr* const header = CMSG_FIRSTHDR(&message.header);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &file, sizeof(file));
  // Who has gone needs none.
  (void)::sendmsg(fd, &message.header, MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace

absl::StatusOr<std::unique_ptr<MemoryShares>> MemoryShares::Start() {
  MW_ASSIGN_OR_RETURN(const std::string secret, MakeSecret());
  const std::string name = absl::StrCat("meshwright-", secret);
  const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener < 0) return NotThere("its socket");
  absl::Cleanup close = [listener] { ::close(listener); };
  if (AtName(::bind, listener, name) != 0 || ::listen(listener, 16) != 0) {
    return NotThere("its socket");
  }
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
  return found == memories_.end() ? nullptr : found->second.memory;
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
      End(fd);
    }
  }
  while (!connections_.empty()) End(connections_.begin()->first);
}

void MemoryShares::End(int fd) {
  Shared shared;
  {
    const std::lock_guard lock(mutex_);
    const auto found = memories_.extract(connections_.at(fd));
    if (!found.empty()) shared = found.mapped();
  }
  if (shared.file >= 0) ::close(shared.file);
  connections_.erase(fd);
  ::close(fd);
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
  const auto [bytes, file] = meshwright::Receive(fd, MSG_DONTWAIT);
  if (file < 0) {
    Lend(fd, bytes);
    return false;
  }
  absl::Cleanup close = [own = file] { ::close(own); };
  const absl::StatusOr<std::string> key = MakeSecret();
  if (!key.ok()) return false;
  absl::StatusOr<std::shared_ptr<const SharedMemory>> memory =
      SharedMemory::Open(::fcntl(file, F_DUPFD_CLOEXEC, 0),
                         absl::StrCat(name_, "/", *key));
  if (!memory.ok()) return false;
  std::move(close).Cancel();
  {
    const std::lock_guard lock(mutex_);
    memories_[*key] = {.file = file, .memory = *std::move(memory)};
  }
  connections_[fd] = *key;
  return ::send(fd, key->data(), key->size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
         std::ssize(*key);
}

void MemoryShares::Lend(int fd, absl::string_view key) const {
  // Only the thread closes it.
  const auto found = memories_.find(key);
  if (found != memories_.end()) SendFile(fd, found->second.file);
}

absl::StatusOr<std::shared_ptr<const SharedMemory>> AttachMemory(
    const std::string& address) {
  const size_t slash = address.find('/');
  const absl::string_view text = address;
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return NotThere("its socket");
  const absl::Cleanup close = [fd] { ::close(fd); };
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &kAnswerTime, sizeof(kAnswerTime));
  if (slash == std::string::npos ||
      AtName(::connect, fd, text.substr(0, slash)) != 0 || !IsOfThisUser(fd)) {
    return NotThere("its socket");
  }
  const absl::string_view key = text.substr(slash + 1);
  if (::send(fd, key.data(), key.size(), MSG_NOSIGNAL) != std::ssize(key)) {
    return NotThere("its owner");
  }
  const Received received = meshwright::Receive(fd, 0);
  if (received.file < 0) return NotThere("its owner");
  return SharedMemory::Open(received.file, address);
}

}  // namespace meshwright
