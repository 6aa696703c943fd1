// Wires between processes, some of which are killed.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/base/element_type.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/wire/file_key_value_store.h"
#include "meshwright/wire/gloo_wire.h"
#include "meshwright/wire/processes_for_test.h"
#include "meshwright/wire/wires_for_test.h"

namespace meshwright {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// How soon the others know that a process is gone: before a call's time is up.
constexpr absl::Duration kSoon = absl::Seconds(10);

class ProcessesTest : public testing::TestWithParam<WireKind> {
 protected:
  absl::StatusOr<std::unique_ptr<Wire>> Connect(
      int rank, int count, const std::string& prefix = "") {
    return ConnectGlooWire(
        {.rank = rank,
         .names = WorkerNames(count),
         .store = &store_,
         .prefix = prefix,
         .timeout = absl::Seconds(20),
         .shared_memory = GetParam() == WireKind::kSharedMemory});
  }

  // Kills a worker and returns what the others say, if they say it soon.
  std::vector<std::string> KillAndWait(int victim, int count) {
    const absl::Time start = absl::Now();
    processes_.Kill(victim);
    std::vector<std::string> said;
    for (int rank = 0; rank < count; ++rank) {
      if (rank != victim) said.push_back(processes_.Wait(rank));
    }
    EXPECT_LT(absl::Now() - start, kSoon);
    return said;
  }

  // Waits until a worker has set this.
  void AwaitKey(const std::string& key) {
    ASSERT_TRUE(store_.Get(key, absl::Seconds(20)).ok());
  }

  Processes processes_;
  FileKeyValueStore store_ = processes_.store();
};

absl::Status Add(Wire& wire, int64_t count, uint32_t tag = 0) {
  std::vector<float> values(count, 1.0f);
  MW_ASSIGN_OR_RETURN(Group * group, wire.GroupOf(AllRanks(wire)));
  MW_RETURN_IF_ERROR(group->AllReduce(ReduceOp::kSum, ElementType::kF32,
                                      WritableBytes(values), tag));
  if (values.back() == static_cast<float>(wire.size())) return absl::OkStatus();
  return absl::InternalError("a wrong sum");
}

const auto kNamesTheVictim =
    AllOf(HasSubstr("UNAVAILABLE"), HasSubstr("worker 2 is gone"));

TEST_P(ProcessesTest, Reduce) {
  processes_.Start(4, [&](int rank) -> absl::Status {
    MW_ASSIGN_OR_RETURN(const std::unique_ptr<Wire> wire, Connect(rank, 4));
    for (const int64_t count : {1, 1000, 100000, 3000000}) {
      for (int round = 0; round < 3; ++round) {
        MW_RETURN_IF_ERROR(Add(*wire, count));
      }
    }
    return absl::OkStatus();
  });
  for (int rank = 0; rank < 4; ++rank) EXPECT_EQ(processes_.Wait(rank), "OK");
}

TEST_P(ProcessesTest, OneIsKilledInTheMiddleOfReductions) {
  processes_.Start(4, [&](int rank) -> absl::Status {
    MW_ASSIGN_OR_RETURN(const std::unique_ptr<Wire> wire, Connect(rank, 4));
    MW_RETURN_IF_ERROR(store_.Set("begun", ""));
    while (true) MW_RETURN_IF_ERROR(Add(*wire, 4000000));
  });
  AwaitKey("begun");
  absl::SleepFor(absl::Milliseconds(300));
  EXPECT_THAT(KillAndWait(2, 4), testing::Each(kNamesTheVictim));
}

TEST_P(ProcessesTest, OneIsKilledInTheMiddleOfSmallReductions) {
  processes_.Start(4, [&](int rank) -> absl::Status {
    MW_ASSIGN_OR_RETURN(const std::unique_ptr<Wire> wire, Connect(rank, 4));
    MW_RETURN_IF_ERROR(store_.Set("begun", ""));
    while (true) MW_RETURN_IF_ERROR(Add(*wire, 100));
  });
  AwaitKey("begun");
  absl::SleepFor(absl::Milliseconds(300));
  EXPECT_THAT(KillAndWait(2, 4), testing::Each(kNamesTheVictim));
}

TEST_P(ProcessesTest, OneIsKilledThatOthersWaitFor) {
  processes_.Start(4, [&](int rank) -> absl::Status {
    MW_ASSIGN_OR_RETURN(const std::unique_ptr<Wire> wire, Connect(rank, 4));
    MW_RETURN_IF_ERROR(Add(*wire, 10));
    if (rank == 2) {
      MW_RETURN_IF_ERROR(store_.Set("begun", ""));
      absl::SleepFor(absl::Seconds(60));
    }
    if (rank == 3) return Add(*wire, 500000);
    // 0 waits for 1, which waits for 2.
    return wire->Receive(rank + 1, {.step = 1}, sizeof(int))->Await();
  });
  AwaitKey("begun");
  absl::SleepFor(absl::Milliseconds(200));
  EXPECT_THAT(KillAndWait(2, 4), testing::Each(kNamesTheVictim));
}

TEST_P(ProcessesTest, OneIsKilledInTheMiddleOfAMessage) {
  constexpr size_t kBytes = 32 << 20;
  processes_.Start(3, [&](int rank) -> absl::Status {
    MW_ASSIGN_OR_RETURN(const std::unique_ptr<Wire> wire, Connect(rank, 3));
    MW_RETURN_IF_ERROR(Add(*wire, 10));
    if (rank == 2) MW_RETURN_IF_ERROR(store_.Set("begun", ""));
    // 2 sends to 0 and receives from 1, again and again.
    for (int step = 0;; ++step) {
      if (rank != 0) {
        const int to = rank == 1 ? 2 : 0;
        MessageMemory memory = wire->Allocate(to, kBytes);
        std::ranges::fill(memory.bytes, std::byte{1});
        MW_RETURN_IF_ERROR(wire->Send(to, {.step = step},
                                      {memory.bytes, std::move(memory.owner)}));
      }
      if (rank != 1) {
        MW_RETURN_IF_ERROR(
            wire->Receive(rank == 0 ? 2 : 1, {.step = step}, kBytes)->Await());
      } else {
        MW_RETURN_IF_ERROR(Add(*wire, 10));
      }
    }
  });
  AwaitKey("begun");
  absl::SleepFor(absl::Milliseconds(300));
  processes_.Stop(2);  // In the middle of whatever it does.
  absl::SleepFor(absl::Milliseconds(100));
  EXPECT_THAT(KillAndWait(2, 3), testing::Each(kNamesTheVictim));
}

TEST_P(ProcessesTest, TheOthersGoOnWithANewWire) {
  processes_.Start(3, [&](int rank) -> absl::Status {
    {
      MW_ASSIGN_OR_RETURN(const std::unique_ptr<Wire> wire,
                          Connect(rank, 3, "1/"));
      MW_RETURN_IF_ERROR(Add(*wire, 100000));
      if (rank == 2) {
        MW_RETURN_IF_ERROR(store_.Set("begun", ""));
        absl::SleepFor(absl::Seconds(60));
      }
      if (Add(*wire, 100000).ok()) return absl::InternalError("still alive?");
    }
    MW_ASSIGN_OR_RETURN(const std::unique_ptr<Wire> wire,
                        Connect(rank, 2, "2/"));
    return Add(*wire, 100000);
  });
  AwaitKey("begun");
  EXPECT_THAT(KillAndWait(2, 3), testing::Each("OK"));
}

TEST_P(ProcessesTest, OneThatNeverComesIsNamed) {
  const auto wire =
      ConnectGlooWire({.rank = 0,
                       .names = WorkerNames(2),
                       .store = &store_,
                       .timeout = absl::Milliseconds(200),
                       .shared_memory = GetParam() == WireKind::kSharedMemory});
  EXPECT_EQ(wire.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(wire.status().message(), HasSubstr("worker 1"));
}

INSTANTIATE_TEST_SUITE_P(Wires, ProcessesTest,
                         testing::Values(WireKind::kTcp,
                                         WireKind::kSharedMemory),
                         [](const auto& test) { return NameOf(test.param); });

}  // namespace
}  // namespace meshwright
