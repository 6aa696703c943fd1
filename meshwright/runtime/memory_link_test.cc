#include "meshwright/runtime/memory_link.h"

#include <atomic>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace meshwright {
namespace {

proto::Hello HelloOfHost3() {
  proto::Hello hello;
  hello.set_host("host-3");
  hello.set_pid(812);
  return hello;
}

proto::WorkerReport ReportOfStep(int64_t step) {
  proto::WorkerReport report;
  report.mutable_step()->set_step(step);
  return report;
}

proto::WorkerCommand PartCommand(int64_t offset, int64_t bytes) {
  proto::WorkerCommand command;
  command.mutable_set()->set_offset(offset);
  command.mutable_set()->set_bytes(std::string(bytes, 'x'));
  return command;
}

TEST(MemoryLinkTest, CarriesCommandsAndReportsInOrder) {
  MemoryLink link = MakeMemoryLink(HelloOfHost3(), nullptr);
  EXPECT_EQ(link.worker->hello().host(), "host-3");
  std::vector<int64_t> steps;
  std::promise<absl::Status> lost;
  link.worker->Start({.report =
                          [&](proto::WorkerReport report) {
                            steps.push_back(report.step().step());
                          },
                      .lost = [&](absl::Status why) { lost.set_value(why); }});
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(link.worker->Send(PartCommand(i, 1)).ok());
    EXPECT_EQ(link.coordinator->Next()->set().offset(), i);
    ASSERT_TRUE(link.coordinator->Send(ReportOfStep(i)).ok());
  }
  link.coordinator.reset();
  EXPECT_EQ(lost.get_future().get(),
            absl::UnavailableError("host-3 (pid 812) left"));
  EXPECT_EQ(steps, (std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(link.worker->Send(PartCommand(0, 1)).code(),
            absl::StatusCode::kUnavailable);
}

TEST(MemoryLinkTest, WhatIsQueuedStillComesWhenTheCoordinatorEnds) {
  MemoryLink link = MakeMemoryLink(HelloOfHost3(), nullptr);
  ASSERT_TRUE(link.worker->Send(PartCommand(7, 1)).ok());
  link.worker.reset();
  EXPECT_EQ(link.coordinator->Next()->set().offset(), 7);
  EXPECT_EQ(link.coordinator->Next().status().code(),
            absl::StatusCode::kUnavailable);
  EXPECT_FALSE(link.coordinator->Send(ReportOfStep(0)).ok());
}

TEST(MemoryLinkTest, SendersWaitWhileTooMuchIsQueued) {
  constexpr int kParts = 64;
  MemoryLink link = MakeMemoryLink(HelloOfHost3(), nullptr);
  std::atomic<int> sent = 0;
  std::thread sender([&] {
    for (int i = 0; i < kParts; ++i) {
      ASSERT_TRUE(link.worker->Send(PartCommand(i, 1 << 20)).ok());
      ++sent;
    }
  });
  for (int i = 0; i < kParts; ++i) {
    EXPECT_EQ(link.coordinator->Next()->set().offset(), i);
    EXPECT_LE(sent, i + 11);
  }
  sender.join();
  // But for what must not wait.
  for (int i = 0; i < 8; ++i) {
    ASSERT_TRUE(link.worker->Send(PartCommand(i, 1 << 20)).ok());
  }
  proto::WorkerCommand abort;
  abort.mutable_abort();
  EXPECT_TRUE(link.worker->Send(abort).ok());
}

TEST(MemoryLinkTest, LinksMayBeDestroyedByTheirEvents) {
  MemoryLink link = MakeMemoryLink(HelloOfHost3(), nullptr);
  std::promise<void> destroyed;
  link.worker->Start({.report =
                          [&](proto::WorkerReport) {
                            link.worker.reset();
                            destroyed.set_value();
                          },
                      .lost = [](absl::Status) { FAIL() << "lost"; }});
  ASSERT_TRUE(link.coordinator->Send(ReportOfStep(0)).ok());
  destroyed.get_future().wait();
  EXPECT_FALSE(link.coordinator->Next().ok());
}

}  // namespace
}  // namespace meshwright
