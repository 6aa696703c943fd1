// What a coordinator does with processes that are workers.
#include <unistd.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/runtime/counter_step_for_test.h"
#include "meshwright/runtime/job_runner.h"
#include "meshwright/service/local_workers.h"

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

}  // namespace
}  // namespace meshwright
