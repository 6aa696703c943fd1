// Messages, failures and their names, on every kind of wire.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/base/element_type.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/wire/group.h"
#include "meshwright/wire/wires_for_test.h"

namespace meshwright {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class MessagesTest : public testing::TestWithParam<WireKind> {};

OwnedBytes Owned(std::vector<int> values, size_t bytes = SIZE_MAX) {
  const auto owner =
      std::make_shared<const std::vector<int>>(std::move(values));
  return {.bytes = Bytes(*owner).subspan(0, bytes), .owner = owner};
}

absl::Status Reduce(Wire& wire, uint32_t tag = 0, int64_t count = 10) {
  std::vector<float> values(count, 1.0f);
  MW_ASSIGN_OR_RETURN(Group * group, wire.GroupOf(AllRanks(wire)));
  return group->AllReduce(ReduceOp::kSum, ElementType::kF32,
                          WritableBytes(values), tag);
}

TEST_P(MessagesTest, EitherSideMayComeFirst) {
  const auto wires = MakeWires(GetParam(), 2);
  RunWorkers(wires, [](Wire& wire) {
    if (wire.rank() == 0) {
      ASSERT_EQ(wire.Send(1, {.step = 1}, Owned({1, 2, 3})), absl::OkStatus());
      absl::SleepFor(absl::Milliseconds(50));
      ASSERT_EQ(wire.Send(1, {.step = 2}, Owned({4, 5, 6})), absl::OkStatus());
    } else {
      auto second = wire.Receive(0, {.step = 2}, 3 * sizeof(int));
      EXPECT_FALSE(second->IsReady());
      EXPECT_THAT(ReceiveValues<int>(wire, 0, {.step = 1}, 3).value(),
                  ElementsAre(1, 2, 3));
      ASSERT_EQ(second->Await(), absl::OkStatus());
      EXPECT_TRUE(second->IsReady());
      ASSERT_EQ(second->Await(), absl::OkStatus());
      EXPECT_THAT(ValuesOf<int>(*second).value(), ElementsAre(4, 5, 6));
    }
  });
}

TEST_P(MessagesTest, AWorkerMaySendToItself) {
  const auto wires = MakeWires(GetParam(), 1);
  Wire& wire = *wires[0];
  ASSERT_EQ(wire.Send(0, {.tensor = 3}, Owned({7, 8})), absl::OkStatus());
  EXPECT_THAT(ReceiveValues<int>(wire, 0, {.tensor = 3}, 2).value(),
              ElementsAre(7, 8));
  auto early = wire.Receive(0, {.tensor = 4}, 2 * sizeof(int));
  ASSERT_EQ(wire.Send(0, {.tensor = 4}, Owned({9, 10})), absl::OkStatus());
  EXPECT_THAT(ValuesOf<int>(*early).value(), ElementsAre(9, 10));
}

TEST_P(MessagesTest, ManyMessagesOfAllSizesInAnyOrder) {
  constexpr int kMessages = 200;
  const auto size_of = [](int i) { return i % 10 == 0 ? 50000 : i % 7; };
  const auto wires = MakeWires(GetParam(), 3);
  RunWorkers(wires, [&](Wire& wire) {
    const int next = (wire.rank() + 1) % 3;
    const int previous = (wire.rank() + 2) % 3;
    for (int i = 0; i < kMessages; ++i) {
      ASSERT_EQ(wire.Send(next, {.step = i, .part = 1},
                          Owned(std::vector<int>(size_of(i), i))),
                absl::OkStatus());
    }
    for (int i = kMessages - 1; i >= 0; --i) {
      const auto got = ReceiveValues<int>(wire, previous,
                                          {.step = i, .part = 1}, size_of(i));
      ASSERT_EQ(got.status(), absl::OkStatus());
      ASSERT_EQ(*got, std::vector<int>(size_of(i), i));
    }
  });
}

TEST_P(MessagesTest, BytesAreKeptUntilTheyAreSent) {
  const auto wires = MakeWires(GetParam(), 2);
  std::atomic<int> released = 0;
  const auto bytes = std::make_shared<std::vector<int>>(100000, 5);
  const std::shared_ptr<const void> owner(
      bytes.get(), [&, bytes](const void*) { ++released; });
  RunWorkers(wires, [&](Wire& wire) {
    if (wire.rank() == 0) {
      ASSERT_EQ(wire.Send(1, {}, {.bytes = Bytes(*bytes), .owner = owner}),
                absl::OkStatus());
    }
  });
  EXPECT_GT(owner.use_count(), 1);
  EXPECT_EQ(ReceiveValues<int>(*wires[1], 0, {}, 100000).value(), *bytes);
  for (int i = 0; i < 100 && owner.use_count() > 1; ++i) {
    absl::SleepFor(absl::Milliseconds(10));
  }
  EXPECT_EQ(owner.use_count(), 1);
}

TEST_P(MessagesTest, MemoryOfMessagesIsUsedAgain) {
  constexpr size_t kBytes = 3 << 20;
  const auto wires = MakeWires(GetParam(), 2);
  RunWorkers(wires, [&](Wire& wire) {
    std::set<const std::byte*> places;
    for (int step = 0; step < 20; ++step) {
      if (wire.rank() == 0) {
        MessageMemory memory = wire.Allocate(1, kBytes);
        ASSERT_EQ(memory.bytes.size(), kBytes);
        EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.bytes.data()) % 64, 0);
        places.insert(memory.bytes.data());
        std::memset(memory.bytes.data(), step, kBytes);
        ASSERT_EQ(wire.Send(1, {.step = step},
                            {memory.bytes, std::move(memory.owner)}),
                  absl::OkStatus());
        // The receiver has let go of it.
        ASSERT_TRUE(ReceiveValues<char>(wire, 1, {.step = step}, 1).ok());
        continue;
      }
      {
        const auto arrival = wire.Receive(0, {.step = step}, kBytes);
        ASSERT_EQ(arrival->Await(), absl::OkStatus());
        const absl::Span<const std::byte> got = arrival->bytes().bytes;
        EXPECT_EQ(got[0], static_cast<std::byte>(step));
        EXPECT_EQ(std::memcmp(&got[0], &got[1], kBytes - 1), 0);
      }
      ASSERT_EQ(wire.Send(0, {.step = step}, Owned({1}, 1)), absl::OkStatus());
    }
    if (GetParam() == WireKind::kSharedMemory && wire.rank() == 0) {
      EXPECT_EQ(places.size(), 1);
    }
  });
}

// What is there stays as it was, as long as somebody has it, also after the
// wire is gone.
TEST_P(MessagesTest, WhatHasArrivedStays) {
  auto wires = MakeWires(GetParam(), 2);
  std::vector<OwnedBytes> kept;
  for (int step = 0; step < 8; ++step) {
    MessageMemory memory = wires[0]->Allocate(1, 100000 + step * 9999);
    std::ranges::fill(memory.bytes, static_cast<std::byte>(step));
    ASSERT_EQ(wires[0]->Send(1, {.step = step},
                             {memory.bytes, std::move(memory.owner)}),
              absl::OkStatus());
    const auto arrival =
        wires[1]->Receive(0, {.step = step}, 100000 + step * 9999);
    ASSERT_EQ(arrival->Await(), absl::OkStatus());
    if (step % 3 != 1) kept.push_back(arrival->bytes());
  }
  wires.clear();
  for (const OwnedBytes& one : kept) {
    const auto step =
        static_cast<std::byte>((one.bytes.size() - 100000) / 9999);
    EXPECT_EQ(std::ranges::count(one.bytes, step), std::ssize(one.bytes));
  }
}

TEST_P(MessagesTest, AWaitEndsWithTheTimeLimitAndNamesThePeer) {
  const auto wires = MakeWires(GetParam(), 3, absl::Seconds(1));
  const absl::Time start = absl::Now();
  const absl::Status late =
      wires[0]->Receive(1, {.step = 1}, sizeof(int))->Await();
  EXPECT_EQ(late.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(late.message(), HasSubstr("worker 1 does not answer"));
  EXPECT_LT(absl::Now() - start, absl::Seconds(5));
  EXPECT_FALSE(wires[0]->Send(1, {}, Owned({1})).ok());
}

TEST_P(MessagesTest, ACollectiveNamesWhoIsMissing) {
  for (const int64_t count : {10, 300000}) {
    const auto wires = MakeWires(GetParam(), 3, absl::Seconds(1));
    RunWorkers(wires, [&](Wire& wire) {
      if (wire.rank() == 1) return;
      const absl::Status late = Reduce(wire, 0, count);
      EXPECT_EQ(late.code(), absl::StatusCode::kDeadlineExceeded) << late;
      EXPECT_THAT(late.message(), HasSubstr("worker 1"));
    });
  }
}

TEST_P(MessagesTest, AbortEndsWhatWaitsAndWhatComes) {
  const auto wires = MakeWires(GetParam(), 2);
  const absl::Status why = absl::CancelledError("enough");
  const auto arrival = wires[0]->Receive(1, {.step = 1}, sizeof(int));
  const auto from_self = wires[0]->Receive(0, {.step = 1}, sizeof(int));
  absl::Time aborted;
  std::vector<std::thread> threads;
  for (int tag = 0; tag < 3; ++tag) {
    threads.emplace_back([&, tag] {
      EXPECT_EQ(Reduce(*wires[0], tag, tag == 0 ? 10 : 300000), why);
      EXPECT_LT(absl::Now() - aborted, absl::Milliseconds(500));
    });
  }
  threads.emplace_back([&] { EXPECT_EQ(arrival->Await(), why); });
  threads.emplace_back([&] { EXPECT_EQ(from_self->Await(), why); });
  absl::SleepFor(absl::Milliseconds(100));
  aborted = absl::Now();
  wires[0]->Abort(why);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Reduce(*wires[0]), why);
  EXPECT_EQ(wires[0]->Send(1, {}, Owned({1})), why);
  // The other one hears of it.
  const absl::Status heard = Reduce(*wires[1], /*tag=*/9);
  EXPECT_EQ(heard.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(heard.message(), HasSubstr("worker 0"));
  EXPECT_THAT(heard.message(), HasSubstr("enough"));
}

TEST_P(MessagesTest, AWorkerThatLeftIsNamed) {
  auto wires = MakeWires(GetParam(), 3);
  const absl::Time start = absl::Now();
  std::thread leaves([&] {
    absl::SleepFor(absl::Milliseconds(100));
    wires[2] = nullptr;
  });
  RunThreads(2, [&](int rank) {
    const absl::Status gone = Reduce(*wires[rank]);
    EXPECT_EQ(gone.code(), absl::StatusCode::kUnavailable) << gone;
    EXPECT_THAT(gone.message(), HasSubstr("worker 2"));
  });
  leaves.join();
  EXPECT_LT(absl::Now() - start, absl::Seconds(3));
}

// What does not need the one that left goes on.
TEST_P(MessagesTest, LeavingInOrderHurtsNobody) {
  for (int round = 0; round < 5; ++round) {
    auto wires = MakeWires(GetParam(), 3);
    RunThreads(3, [&](int rank) {
      ASSERT_EQ(Reduce(*wires[rank], 0, 400000), absl::OkStatus());
      if (rank == 2) {
        wires[2] = nullptr;
        return;
      }
      absl::SleepFor(absl::Milliseconds(30));
      std::vector<float> values(10);
      ASSERT_EQ((*wires[rank]->GroupOf({0, 1}))
                    ->AllReduce(ReduceOp::kSum, ElementType::kF32,
                                WritableBytes(values), 1),
                absl::OkStatus());
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Wires, MessagesTest,
                         testing::Values(WireKind::kMemory, WireKind::kTcp,
                                         WireKind::kSharedMemory),
                         [](const auto& test) { return NameOf(test.param); });

}  // namespace
}  // namespace meshwright
