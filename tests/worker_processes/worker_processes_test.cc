// What a coordinator does with processes that are workers.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/base/version.h"
#include "meshwright/launch/child_process.h"
#include "meshwright/runtime/counter_step_for_test.h"
#include "meshwright/runtime/job_runner.h"
#include "meshwright/service/local_workers.h"
#include "meshwright/service/worker_client.h"

namespace meshwright {
namespace {

std::unique_ptr<LocalWorkers> Start(int count) {
  return LocalWorkers::Start(
             {.count = count, .platform = "cpu", .program = MW_PROGRAM})
      .value();
}

std::unique_ptr<JobRunner> Load(Coordinator& coordinator,
                                const Module& module) {
  auto site = coordinator.Load(MakeJob(module).value()).value();
  const Job* const job = &site->job();
  return std::make_unique<JobRunner>(module, job, std::move(site));
}

TEST(WorkerProcessesTest, AWorkerBeginsAnewAsTheSameProcess) {
  const auto workers = Start(1);
  Coordinator& coordinator = workers->coordinator();
  const Module module = CounterForTest(2);
  const std::shared_ptr<RemoteWorker> before = coordinator.workers()[0];
  ASSERT_TRUE(Load(coordinator, module)->FillSynthetic(1).ok());
  proto::WorkerCommand command;
  command.mutable_renew();
  ASSERT_TRUE(before->Post(std::move(command)).ok());
  const absl::Time end = absl::Now() + absl::Seconds(60);
  while (coordinator.workers().size() < 2 && absl::Now() < end) {
    absl::SleepFor(absl::Milliseconds(20));
  }
  ASSERT_EQ(coordinator.workers().size(), 2u);
  const std::shared_ptr<RemoteWorker> after = coordinator.workers()[1];
  EXPECT_FALSE(before->health().ok());
  EXPECT_TRUE(after->health().ok()) << after->health();
  EXPECT_EQ(after->hello().pid(), before->hello().pid());
  EXPECT_GT(after->serial(), before->serial());
  const auto runner = Load(coordinator, module);
  ASSERT_TRUE(
      runner->Set({FloatsForTest("w", {1, 2}), FloatsForTest("x", {3, 4})})
          .ok());
  const auto step = runner->Step();
  ASSERT_TRUE(step.ok()) << step.status();
  EXPECT_EQ(step->loss, 3);
}

TEST(WorkerProcessesTest, AWorkerOfAnotherVersionIsRefusedInOneLine) {
  // A coordinator as users start it; both live as long as its output is read.
  const auto listens = std::make_shared<absl::Notification>();
  const auto address = std::make_shared<std::string>();
  const auto serve = ChildProcess::Start(
      {.argv = {MW_PROGRAM, "serve", "--listen", "127.0.0.1:0"},
       .name = "serve",
       .on_line = [=](absl::string_view line) {
         if (listens->HasBeenNotified()) return;
         const std::vector<std::string> words = absl::StrSplit(line, ' ');
         ASSERT_GE(words.size(), 3u) << line;
         *address = words[2].substr(0, words[2].find(';'));
         listens->Notify();
       }});
  ASSERT_TRUE(serve.ok()) << serve.status();
  ASSERT_TRUE(listens->WaitForNotificationWithTimeout(absl::Seconds(60)));

  proto::Hello hello;
  hello.set_host("host-3");
  hello.set_pid(812);
  hello.set_devices(1);
  hello.set_version("0.0.9");
  const absl::Status old =
      JoinCoordinator({.address = *address, .hello = hello}).status();
  EXPECT_EQ(old.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(std::string(old.message()),
            absl::StrCat("worker host-3 (pid 812) runs meshwright 0.0.9, the "
                         "coordinator ",
                         Version(), "; install the same"));
  hello.clear_version();
  hello.set_protocol(99);
  const absl::Status other =
      JoinCoordinator({.address = *address, .hello = hello}).status();
  EXPECT_EQ(other.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(other.message()),
              testing::StartsWith("worker host-3 (pid 812) speaks protocol 99, "
                                  "the coordinator "));
  // It goes on, for those that fit.
  hello.clear_protocol();
  const auto fits = JoinCoordinator({.address = *address, .hello = hello});
  EXPECT_TRUE(fits.ok()) << fits.status();
}

}  // namespace
}  // namespace meshwright
