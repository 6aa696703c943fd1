// Large transfers through a link, in bounded memory.
#include <thread>

#include "gtest/gtest.h"
#include "meshwright/service/joined_for_test.h"
#include "meshwright/service/limits.h"
#include "meshwright/service/peak_memory_for_test.h"

namespace meshwright {
namespace {

constexpr int64_t kTotalBytes = int64_t{1} << 30;
constexpr int64_t kParts = kTotalBytes / kPartBytes;
// Both ends are here: two queues, what gRPC holds, and room.
constexpr int64_t kMaxPeakBytes = int64_t{160} << 20;

// Part `index`: its bytes depend on it.
proto::TensorPart Part(int64_t index) {
  proto::TensorPart part;
  part.set_offset(index * kPartBytes);
  part.set_bytes(std::string(kPartBytes, static_cast<char>(index)));
  part.set_last(index + 1 == kParts);
  return part;
}

bool IsPart(int64_t index, const proto::TensorPart& part) {
  return part.offset() == index * kPartBytes &&
         part.bytes() == Part(index).bytes() &&
         part.last() == (index + 1 == kParts);
}

TEST(LinkFlowTest, AGibibyteOfCommandsComesInOrder) {
  CoordinatorForTest coordinator;
  auto worker = coordinator.Join();
  ASSERT_TRUE(worker.ok()) << worker.status();
  std::unique_ptr<WorkerLink> link = coordinator.joined.Take();
  const PeakMemoryForTest peak;
  std::thread sender([&] {
    for (int64_t i = 0; i < kParts; ++i) {
      proto::WorkerCommand command;
      *command.mutable_set() = Part(i);
      ASSERT_TRUE(link->Send(std::move(command)).ok());
    }
  });
  absl::SleepFor(absl::Milliseconds(200));  // So that queues fill up.
  for (int64_t i = 0; i < kParts; ++i) {
    const auto command = (*worker)->Next();
    ASSERT_TRUE(command.ok()) << command.status();
    ASSERT_TRUE(IsPart(i, command->set())) << i;
  }
  sender.join();
  if (kMemoryIsMeasured) {
    EXPECT_LT(peak.bytes(), kMaxPeakBytes);
  }
}

TEST(LinkFlowTest, AGibibyteOfReportsComesInOrder) {
  CoordinatorForTest coordinator;
  auto worker = coordinator.Join();
  ASSERT_TRUE(worker.ok()) << worker.status();
  std::unique_ptr<WorkerLink> link = coordinator.joined.Take();
  const PeakMemoryForTest peak;
  std::thread sender([&] {
    for (int64_t i = 0; i < kParts; ++i) {
      proto::WorkerReport report;
      *report.mutable_part() = Part(i);
      ASSERT_TRUE((*worker)->Send(std::move(report)).ok());
    }
  });
  absl::SleepFor(absl::Milliseconds(200));
  int64_t next = 0;
  Inbox<bool> all;
  link->Start({.report =
                   [&](proto::WorkerReport report) {
                     EXPECT_TRUE(IsPart(next, report.part())) << next;
                     if (++next == kParts) all.Put(true);
                   },
               .lost = [](absl::Status) {}});
  EXPECT_TRUE(all.Take());
  sender.join();
  if (kMemoryIsMeasured) {
    EXPECT_LT(peak.bytes(), kMaxPeakBytes);
  }
}

TEST(LinkFlowTest, SendersThatWaitNoticeTheEnd) {
  CoordinatorForTest coordinator;
  auto worker = coordinator.Join();
  ASSERT_TRUE(worker.ok()) << worker.status();
  std::unique_ptr<WorkerLink> link = coordinator.joined.Take();
  absl::Status end;
  std::thread sender([&] {  // Nobody reads.
    for (int64_t i = 0; end.ok(); ++i) {
      proto::WorkerCommand command;
      *command.mutable_set() = Part(i % kParts);
      end = link->Send(std::move(command));
    }
  });
  absl::SleepFor(absl::Milliseconds(300));
  // Not behind what waits.
  proto::WorkerCommand abort;
  abort.mutable_abort()->set_why("test");
  EXPECT_TRUE(link->Send(abort).ok());
  worker->reset();
  sender.join();
  EXPECT_EQ(end.code(), absl::StatusCode::kUnavailable);
}

TEST(LinkFlowTest, WorkersThatWaitNoticeTheEnd) {
  CoordinatorForTest coordinator;
  auto worker = coordinator.Join();
  ASSERT_TRUE(worker.ok()) << worker.status();
  std::unique_ptr<WorkerLink> link = coordinator.joined.Take();
  absl::Status end;
  std::thread sender([&] {  // Nobody has called Start().
    for (int64_t i = 0; end.ok(); ++i) {
      proto::WorkerReport report;
      *report.mutable_part() = Part(i % kParts);
      end = (*worker)->Send(std::move(report));
    }
  });
  // Fills the worker's inbox too: its reads have stopped.
  for (int64_t i = 0; i < 5; ++i) {
    proto::WorkerCommand command;
    *command.mutable_set() = Part(i);
    ASSERT_TRUE(link->Send(std::move(command)).ok());
  }
  absl::SleepFor(absl::Milliseconds(300));
  link.reset();
  sender.join();
  EXPECT_EQ(end.code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace meshwright
