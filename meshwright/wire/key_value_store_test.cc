#include "meshwright/wire/key_value_store.h"

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/wire/file_key_value_store.h"
#include "meshwright/wire/memory_key_value_store.h"

namespace meshwright {
namespace {

class KeyValueStoreTest : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    ASSERT_NE(mkdtemp(folder_.data()), nullptr);
    if (GetParam()) {
      store_ = std::make_unique<FileKeyValueStore>(folder_);
    } else {
      store_ = std::make_unique<MemoryKeyValueStore>();
    }
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string folder_ = testing::TempDir() + "store_XXXXXX";
  std::unique_ptr<KeyValueStore> store_;
};

TEST_P(KeyValueStoreTest, KeepsAnyBytesUnderAnyKey) {
  const std::string bytes("a\0\n\xff", 4);
  ASSERT_EQ(store_->Set("job 7/../wire:0", bytes), absl::OkStatus());
  ASSERT_EQ(store_->Set("job 7/../wire:1", ""), absl::OkStatus());
  EXPECT_EQ(*store_->Get("job 7/../wire:0", absl::ZeroDuration()), bytes);
  EXPECT_EQ(*store_->Get("job 7/../wire:1", absl::ZeroDuration()), "");
  ASSERT_EQ(store_->Set("job 7/../wire:0", "new"), absl::OkStatus());
  EXPECT_EQ(*store_->Get("job 7/../wire:0", absl::ZeroDuration()), "new");
}

TEST_P(KeyValueStoreTest, GetWaitsForTheKey) {
  std::thread later([&] {
    absl::SleepFor(absl::Milliseconds(50));
    EXPECT_EQ(store_->Set("key", "value"), absl::OkStatus());
  });
  EXPECT_EQ(*store_->Get("key", absl::Seconds(10)), "value");
  later.join();
}

TEST_P(KeyValueStoreTest, GetNamesTheKeyThatNobodySet) {
  const absl::Status late =
      store_->Get("nothing", absl::Milliseconds(20)).status();
  EXPECT_EQ(late.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(late.message(), testing::HasSubstr("nothing"));
}

INSTANTIATE_TEST_SUITE_P(Stores, KeyValueStoreTest, testing::Bool(),
                         [](const auto& test) {
                           return test.param ? "File" : "Memory";
                         });

}  // namespace
}  // namespace meshwright
