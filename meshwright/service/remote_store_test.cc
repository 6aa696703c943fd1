#include "meshwright/service/remote_store.h"

#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/base/message_for_test.h"
#include "meshwright/service/joined_for_test.h"
#include "meshwright/service/limits.h"

namespace meshwright {
namespace {

class RemoteStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto joined = coordinator_.Join();
    ASSERT_TRUE(joined.ok()) << joined.status();
    worker_ = *std::move(joined);
  }
  KeyValueStore& store() { return worker_->store(); }

  CoordinatorForTest coordinator_;
  std::unique_ptr<CoordinatorLink> worker_;
};

TEST_F(RemoteStoreTest, SetsAndGets) {
  const std::string value("a\0b\xff", 4);
  EXPECT_TRUE(store().Set("job7/wire/0", value).ok());
  EXPECT_EQ(*store().Get("job7/wire/0", absl::ZeroDuration()), value);
  EXPECT_EQ(*coordinator_.store.Get("job7/wire/0", absl::ZeroDuration()),
            value);
}

TEST_F(RemoteStoreTest, WaitsForOtherWorkersAndTheCoordinator) {
  auto other = coordinator_.Join();
  ASSERT_TRUE(other.ok()) << other.status();
  std::thread setter([&] {
    absl::SleepFor(absl::Milliseconds(200));
    EXPECT_TRUE((*other)->store().Set("from a worker", "1").ok());
    absl::SleepFor(absl::Milliseconds(200));
    EXPECT_TRUE(coordinator_.store.Set("from the coordinator", "2").ok());
  });
  EXPECT_EQ(*store().Get("from a worker", absl::Seconds(10)), "1");
  EXPECT_EQ(*store().Get("from the coordinator", absl::Seconds(10)), "2");
  setter.join();
}

TEST_F(RemoteStoreTest, NamesTheKeyThatDidNotCome) {
  const absl::Time begin = absl::Now();
  const absl::Status status =
      store().Get("job7/wire/1", absl::Milliseconds(300)).status();
  EXPECT_GE(absl::Now() - begin, absl::Milliseconds(300));
  EXPECT_LT(absl::Now() - begin, absl::Seconds(20));
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(MessageOf(status), "nobody set job7/wire/1 within 300ms");
}

TEST_F(RemoteStoreTest, ManyWaitAtOnce) {
  constexpr int kWaiting = 100;
  std::vector<std::thread> threads;
  for (int i = 0; i < kWaiting; ++i) {
    threads.emplace_back([&, i] {
      const std::string key = absl::StrCat("key", i);
      EXPECT_EQ(*store().Get(key, absl::Seconds(20)), key);
    });
  }
  absl::SleepFor(absl::Milliseconds(100));
  for (int i = 0; i < kWaiting; ++i) {
    const std::string key = absl::StrCat("key", i);
    ASSERT_TRUE(store().Set(key, key).ok());
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(RemoteStoreTest, WaitingEndsWithTheCoordinator) {
  absl::Status status;
  std::thread waiter(
      [&] { status = store().Get("never", absl::Seconds(60)).status(); });
  absl::SleepFor(absl::Milliseconds(200));
  const absl::Time begin = absl::Now();
  coordinator_.server.reset();
  waiter.join();
  EXPECT_LT(absl::Now() - begin, absl::Seconds(20));
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
}

TEST_F(RemoteStoreTest, RefusesWhatIsTooLarge) {
  EXPECT_EQ(store().Set("", "x").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(store().Set(std::string(kMaxKeyBytes + 1, 'k'), "x").code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(store().Set("k", std::string(kMaxValueBytes + 1, 'x')).code(),
            absl::StatusCode::kInvalidArgument);
  // More than gRPC takes.
  EXPECT_EQ(store().Set("k", std::string(2 * kMaxMessageBytes, 'x')).code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(store().Set("k", std::string(kMaxValueBytes, 'x')).ok());
}

}  // namespace
}  // namespace meshwright
