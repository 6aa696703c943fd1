#include "meshwright/wire/memory_shares.h"

#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <thread>

#include "gtest/gtest.h"
#include "meshwright/base/memfd_for_test.h"
#include "meshwright/wire/share_memory_for_test.h"

namespace meshwright {
namespace {

class MemorySharesTest : public testing::Test {
 protected:
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
  const int first = ConnectForTest(shares_->name());
  const int second = ConnectForTest(shares_->name());
  const std::string key = ShareForTest(first, MakeMemfdForTest(4096));
  const std::string other = ShareForTest(second, MakeMemfdForTest(8192));
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

TEST_F(MemorySharesTest, WorkersAttachWhatIsShared) {
  const int fd = ConnectForTest(shares_->name());
  const std::string key = ShareForTest(fd, MakeMemfdForTest(4096));
  const std::string address = shares_->Find(key)->address();
  std::shared_ptr<const SharedMemory> attached = AttachMemory(address).value();
  EXPECT_EQ(attached->address(), address);
  const absl::Span<std::byte> bytes = attached->Find(100, 8).value();
  std::memset(bytes.data(), 'x', bytes.size());
  EXPECT_EQ(*shares_->Find(key)->Find(107, 1)->data(), std::byte{'x'});
  // Each is found by its own addresses.
  EXPECT_EQ(SharedMemory::Around(bytes), attached);
  EXPECT_EQ(SharedMemory::Around(*shares_->Find(key)->Find(0, 4096)),
            shares_->Find(key));
  // It stays as long as anybody has it, and is nowhere else to be had.
  ::close(fd);
  AwaitGone(key);
  EXPECT_EQ(bytes[7], std::byte{'x'});
  for (const std::string& other :
       {address, address + "0", shares_->name(), std::string("/"),
        std::string("nowhere/") + key, std::string(200, 'x') + "/" + key}) {
    EXPECT_EQ(AttachMemory(other).status().code(),
              absl::StatusCode::kUnavailable)
        << other;
  }
  attached = nullptr;
  EXPECT_EQ(SharedMemory::Around(bytes), nullptr);
}

TEST_F(MemorySharesTest, WhatIsNoSealedMemoryEndsTheConnection) {
  const int none = ConnectForTest(shares_->name());
  EXPECT_EQ(ShareForTest(none, -1), "");
  const int unsealed = ConnectForTest(shares_->name());
  EXPECT_EQ(ShareForTest(unsealed, MakeMemfdForTest(4096, /*seals=*/0)), "");
  const int twice = ConnectForTest(shares_->name());
  const std::string key = ShareForTest(twice, MakeMemfdForTest(4096));
  EXPECT_NE(key, "");
  EXPECT_EQ(ShareForTest(twice, MakeMemfdForTest(4096)), "");
  AwaitGone(key);
  for (const int fd : {none, unsealed, twice}) ::close(fd);
}

TEST_F(MemorySharesTest, EndsWithClientsThatAreConnected) {
  const std::string name = shares_->name();
  const int fd = ConnectForTest(name);
  ShareForTest(fd, MakeMemfdForTest(4096));
  shares_ = nullptr;
  char byte = 0;
  EXPECT_EQ(::recv(fd, &byte, 1, 0), 0);
  EXPECT_EQ(ConnectForTest(name), -1);
  ::close(fd);
}

}  // namespace
}  // namespace meshwright
