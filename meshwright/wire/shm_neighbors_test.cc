#include "meshwright/wire/shm_neighbors.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "meshwright/base/element_type.h"
#include "meshwright/wire/gloo_wire.h"
#include "meshwright/wire/health.h"
#include "meshwright/wire/memory_key_value_store.h"
#include "meshwright/wire/shm_segment.h"
#include "meshwright/wire/wires_for_test.h"

namespace meshwright {
namespace {

TEST(ShmSegmentTest, IsTheSameMemoryForBoth) {
  const auto own = ShmSegment::Create();
  ASSERT_TRUE(own.ok()) << own.status();
  const auto other = ShmSegment::Open((*own)->path());
  ASSERT_TRUE(other.ok()) << other.status();
  (*own)->buffer(ShmSegment::kChannels - 1, 1)[5] = std::byte{7};
  EXPECT_EQ((*other)->buffer(ShmSegment::kChannels - 1, 1)[5], std::byte{7});
  (*other)->channel(3).call.store(11);
  EXPECT_EQ((*own)->channel(3).call.load(), 11);
}

TEST(ShmSegmentTest, HasNoMessagesWhereAddressesAreLimited) {
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  rlimit limited = before;
  int64_t pages = 0;  // That this process has.
  std::ifstream("/proc/self/statm") >> pages;
  // Enough for all but the messages.
  limited.rlim_cur = pages * sysconf(_SC_PAGESIZE) + (rlim_t{900} << 20);
  ASSERT_EQ(setrlimit(RLIMIT_AS, &limited), 0);
  const auto own = ShmSegment::Create();
  ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
  ASSERT_TRUE(own.ok()) << own.status();
  EXPECT_EQ((*own)->message_bytes(), 0);
  (*own)->buffer(0, 0)[5] = std::byte{7};
}

TEST(ShmSegmentTest, IsNotTakenForAnother) {
  const auto own = ShmSegment::Create();
  ASSERT_TRUE(own.ok()) << own.status();
  EXPECT_FALSE(ShmSegment::Open((*own)->path() + "1").ok());
  EXPECT_FALSE(ShmSegment::Open("/proc/self/exe 12").ok());
  EXPECT_FALSE(ShmSegment::Open("/proc/self/fd/98765 12").ok());
  EXPECT_FALSE(ShmSegment::Open("nothing").ok());
}

// Worker 1 does not want shared memory; all know it.
TEST(ShmNeighborsTest, AllAgreeWhoSharesMemory) {
  MemoryKeyValueStore store;
  RunThreads(3, [&](int rank) {
    Health health(rank, WorkerNames(3), absl::Seconds(20));
    const auto neighbors = ShmNeighbors::Find({.rank = rank,
                                               .names = WorkerNames(3),
                                               .store = &store,
                                               .shared_memory = rank != 1},
                                              health);
    ASSERT_TRUE(neighbors.ok()) << neighbors.status();
    EXPECT_EQ((*neighbors)->Share({0, 2}), rank != 1);
    EXPECT_FALSE((*neighbors)->Share({0, 1, 2}));
    EXPECT_FALSE((*neighbors)->Share({0, 1}));
  });
}

TEST(ShmNeighborsTest, OneWithoutSharedMemoryWorksWithTheOthers) {
  MemoryKeyValueStore store;
  RunThreads(3, [&](int rank) {
    const auto wire = ConnectGlooWire({.rank = rank,
                                       .names = WorkerNames(3),
                                       .store = &store,
                                       .timeout = absl::Seconds(20),
                                       .shared_memory = rank != 1});
    ASSERT_TRUE(wire.ok()) << wire.status();
    for (const std::vector<int>& ranks :
         std::vector<std::vector<int>>{{0, 1, 2}, {0, 2}}) {
      if (ranks.size() == 2 && rank == 1) continue;
      std::vector<float> values(100000, 1.0f);
      ASSERT_EQ((*(*wire)->GroupOf(ranks))
                    ->AllReduce(ReduceOp::kSum, ElementType::kF32,
                                WritableBytes(values), 0),
                absl::OkStatus());
      EXPECT_EQ(values.back(), static_cast<float>(ranks.size()));
    }
  });
}

}  // namespace
}  // namespace meshwright
