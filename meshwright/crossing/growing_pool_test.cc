#include "meshwright/crossing/growing_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>

namespace meshwright {
namespace {

TEST(GrowingPoolTest, TasksMayWaitForLaterOnes) {
  GrowingPool pool;
  std::mutex mutex;
  std::condition_variable changed;
  int arrived = 0;
  for (int i = 0; i < 50; ++i) {
    pool.Run([&] {
      std::unique_lock lock(mutex);
      ++arrived;
      changed.notify_all();
      changed.wait(lock, [&] { return arrived == 50; });
    });
  }
  pool.Finish();
  EXPECT_EQ(arrived, 50);
}

TEST(GrowingPoolTest, FinishWaitsForWhatTasksStart) {
  std::atomic<int> count = 0;
  GrowingPool pool;
  for (int i = 0; i < 100; ++i) {
    pool.Run([&] {
      pool.Run([&] {
        pool.Run([&] { ++count; });
        ++count;
      });
      ++count;
    });
  }
  pool.Finish();
  EXPECT_EQ(count, 300);
  pool.Run([&] { ++count; });
  EXPECT_EQ(count, 301);
}

}  // namespace
}  // namespace meshwright
