#include "meshwright/service/memory_shares.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <thread>

#include "gtest/gtest.h"
#include "meshwright/base/memfd_for_test.h"

namespace meshwright {
namespace {

class MemorySharesTest : public testing::Test {
 protected:
  // The end of a connection, or -1.
  static int Connect(const std::string& name) {
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, name.data(), name.size());
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) +
                                             1 + name.size());
    if (::connect(fd, reinterpret_cast<sockaddr*>(&address), size) == 0) {
      return fd;
    }
    ::close(fd);
    return -1;
  }

  // The key; empty if the connection was closed.
  static std::string Share(int fd, int file) {
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

  void AwaitGone(const std::string& key) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (shares_->Find(key) != nullptr &&
           std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_EQ(shares_->Find(key), nullptr);
  }

  std::unique_ptr<MemoryShares> shares_ = MemoryShares::Start().value();
};

TEST_F(MemorySharesTest, EachClientHasMemoryOfItsOwnWhileItIsConnected) {
  const int first = Connect(shares_->name());
  const int second = Connect(shares_->name());
  const std::string key = Share(first, MakeMemfdForTest(4096));
  const std::string other = Share(second, MakeMemfdForTest(8192));
  ASSERT_EQ(key.size(), 32u);
  EXPECT_EQ(shares_->Find(key)->size(), 4096);
  EXPECT_EQ(shares_->Find(other)->size(), 8192);
  EXPECT_EQ(shares_->Find(""), nullptr);
  EXPECT_EQ(shares_->Find(key.substr(1)), nullptr);

  // What a call holds stays.
  const std::shared_ptr<const SharedMemory> held = shares_->Find(key);
  ::close(first);
  AwaitGone(key);
  std::memset(held->Find(0, 4096)->data(), 'x', 4096);
  EXPECT_EQ(shares_->Find(other)->size(), 8192);
  ::close(second);
}

TEST_F(MemorySharesTest, WhatIsNoSealedMemoryEndsTheConnection) {
  const int none = Connect(shares_->name());
  EXPECT_EQ(Share(none, -1), "");
  const int unsealed = Connect(shares_->name());
  EXPECT_EQ(Share(unsealed, MakeMemfdForTest(4096, /*seals=*/0)), "");
  const int twice = Connect(shares_->name());
  const std::string key = Share(twice, MakeMemfdForTest(4096));
  EXPECT_NE(key, "");
  EXPECT_EQ(Share(twice, MakeMemfdForTest(4096)), "");
  AwaitGone(key);
  for (const int fd : {none, unsealed, twice}) ::close(fd);
}

TEST_F(MemorySharesTest, EndsWithClientsThatAreConnected) {
  const std::string name = shares_->name();
  const int fd = Connect(name);
  Share(fd, MakeMemfdForTest(4096));
  shares_ = nullptr;
  char byte = 0;
  EXPECT_EQ(::recv(fd, &byte, 1, 0), 0);
  EXPECT_EQ(Connect(name), -1);
  ::close(fd);
}

}  // namespace
}  // namespace meshwright
