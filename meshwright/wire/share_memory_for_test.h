// Test support: memory that a script shares with a coordinator of this machine.
#ifndef MESHWRIGHT_WIRE_SHARE_MEMORY_FOR_TEST_H_
#define MESHWRIGHT_WIRE_SHARE_MEMORY_FOR_TEST_H_

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "meshwright/base/memfd_for_test.h"

namespace meshwright {

// As a script connects: the end of a connection, or -1.
inline int ConnectForTest(const std::string& name) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto size =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (::connect(fd, reinterpret_cast<sockaddr*>(&address), size) == 0) {
    return fd;
  }
  ::close(fd);
  return -1;
}

// Sends this file, if any, and closes it. The key; empty if the connection was
// closed.
inline std::string ShareForTest(int fd, int file) {
  char byte = 'm';
  iovec data = {.iov_base = &byte, .iov_len = 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  if (file >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &file, sizeof(file));
  }
  EXPECT_EQ(::sendmsg(fd, &message, MSG_NOSIGNAL), 1);
  if (file >= 0) ::close(file);
  char key[100];
  const ssize_t size = ::recv(fd, key, sizeof(key), 0);
  return size <= 0 ? "" : std::string(key, static_cast<size_t>(size));
}

}  // namespace meshwright

#endif  // MESHWRIGHT_WIRE_SHARE_MEMORY_FOR_TEST_H_
