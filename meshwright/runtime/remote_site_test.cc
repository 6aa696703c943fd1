// Jobs on workers of which some fail.
#include "meshwright/runtime/remote_site.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "meshwright/mesh/sharding_text.h"
#include "meshwright/runtime/counter_step_for_test.h"
#include "meshwright/runtime/host_array.h"
#include "meshwright/runtime/scripted_worker_for_test.h"
#include "meshwright/runtime/worker_threads_for_test.h"

namespace meshwright {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Command = proto::WorkerCommand;

class RemoteSiteTest : public testing::Test {
 protected:
  // Two devices on each of two workers, which sum.
  JobSource Source() const {
    const Sharding split = ParseSharding("[a]", {4}, mesh_).value();
    return MakeJob(module_, {.program = program_,
                             .mesh = mesh_,
                             .parameters = {split, split},
                             .outputs = {split, Sharding::Replicated({})}})
        .value();
  }
  JobSource Placed() const {
    JobSource source = Source();
    EXPECT_TRUE(PlaceJob({2, 2}, source.job).ok());
    return source;
  }
  // Values on some of the devices.
  static absl::Status Give(JobSite& site, std::vector<int64_t> devices) {
    const std::string data = FloatsForTest("", {1, 1, 1, 1}).data;
    const auto* const begin = reinterpret_cast<const std::byte*>(data.data());
    const auto ones = std::make_shared<const std::vector<std::byte>>(
        begin, begin + data.size());
    for (const int64_t parameter : {0, 1}) {
      const absl::Status set =
          site.Set({.parameter = parameter, .devices = devices},
                   {.bytes = absl::MakeConstSpan(ones->data(), ones->size()),
                    .owner = ones});
      if (!set.ok()) return set;
    }
    return absl::OkStatus();
  }
  static absl::StatusOr<double> LossOf(JobSite& site) {
    const auto steps = site.Steps(1);
    if (!steps.ok()) return steps.status();
    return steps->at(0).loss.value_or(-1);
  }

  const Mesh mesh_ = Mesh::Parse("a=4").value();
  const Module module_ = CounterForTest(4);
  const Module program_ = CounterForTest(1, mesh_.Groups(mesh_.AllSubAxes()));
};

TEST_F(RemoteSiteTest, WorkersWaitLongerThanTheCoordinator) {
  WorkerWatch::Limits limits;
  EXPECT_GT(limits.wire(), limits.step);
  limits.step = absl::Hours(2);
  EXPECT_GT(limits.wire(), limits.step);
}

TEST_F(RemoteSiteTest, LastActionsAreToldWhereverAWaitEnds) {
  // Worker 0 gives up before the coordinator does.
  WorkerThreadsForTest workers({.silence = absl::Minutes(10),
                                .step = absl::Minutes(2),
                                .wire_margin = absl::Seconds(-119),
                                .aftermath = absl::Milliseconds(200)});
  workers.Add(2);
  ScriptedWorkerForTest other(
      workers.coordinator(), {.rank = 1},
      [](const Command& command) -> std::optional<absl::Status> {
        if (command.has_run()) return std::nullopt;
        return absl::OkStatus();
      });
  const auto site = workers.coordinator().Load(Source());
  ASSERT_TRUE(site.ok()) << site.status();
  ASSERT_TRUE(Give(**site, {0, 1, 2, 3}).ok());
  const absl::Status late = LossOf(**site).status();
  EXPECT_EQ(late.code(), absl::StatusCode::kDeadlineExceeded) << late;
  EXPECT_THAT(std::string(late.message()),
              AllOf(HasSubstr("worker 0"),
                    HasSubstr("; the last that workers did:\n  worker 0 (pid "),
                    HasSubstr("(step 0 was under way; no step was complete)")));
}

TEST_F(RemoteSiteTest, AnInitialJobIsLoadedAgain) {
  WorkerThreadsForTest workers;
  workers.Add(2);
  workers.Add(2);
  const auto site = workers.coordinator().Load(Source());
  ASSERT_TRUE(site.ok()) << site.status();
  for (int i = 0; i < 3; ++i) {
    const auto init = (*site)->LoadInit(Placed());
    ASSERT_TRUE(init.ok()) << init.status();
    ASSERT_TRUE(Give(**init, {0, 1, 2, 3}).ok());
    const auto loss = LossOf(**init);
    ASSERT_TRUE(loss.ok()) << loss.status();
    EXPECT_EQ(*loss, 4);
  }
  // The job itself is still there.
  ASSERT_TRUE(Give(**site, {0, 1, 2, 3}).ok());
  EXPECT_EQ(*LossOf(**site), 4);
}

TEST_F(RemoteSiteTest, ProgramsThatDoNotArriveWholeAreNotLoaded) {
  WorkerThreadsForTest workers;
  workers.Add(1);
  RemoteWorker& worker = *workers.coordinator().workers()[0];
  Command blob;
  blob.mutable_blob()->set_hash("0a1b");
  blob.mutable_blob()->set_bytes("other bytes");
  blob.mutable_blob()->set_first(true);
  blob.mutable_blob()->set_last(true);
  ASSERT_TRUE(worker.Post(blob).ok());
  Command load;
  load.mutable_load()->set_spec_hash("0a1b");
  const uint64_t id = worker.Command(load).value();
  proto::Reply reply;
  while (!worker.TakeReply(id, &reply)) absl::SleepFor(absl::Milliseconds(5));
  EXPECT_EQ(reply.message(), "a program of the job did not arrive whole");
}

TEST_F(RemoteSiteTest, AnInitialJobThatOneCannotLoadIsUnloadedByAll) {
  absl::Notification may_end;
  const auto is_init = [](const Command& command) {
    return command.has_load() && command.load().beside() != 0;
  };
  const auto unloads_init = [](const Command& command) {
    return command.has_unload() && command.job() > (int64_t{1} << 40);
  };
  Coordinator coordinator({.limits = {.silence = absl::Minutes(10)}});
  ScriptedWorkerForTest slow(coordinator, {.rank = 0},
                             [&](const Command& command) {
                               if (is_init(command)) {
                                 may_end.WaitForNotification();
                               }
                               return ScriptedWorkerForTest::Well(command);
                             });
  ScriptedWorkerForTest fails(
      coordinator, {.rank = 1},
      [&](const Command& command) -> std::optional<absl::Status> {
        if (is_init(command)) return absl::InternalError("no compiler");
        return absl::OkStatus();
      });
  const auto site = coordinator.Load(Source());
  ASSERT_TRUE(site.ok()) << site.status();
  absl::Status failed;
  absl::Notification has_failed;
  std::thread loading([&] {
    failed = (*site)->LoadInit(Placed()).status();
    has_failed.Notify();
  });
  // It waits for those that still compile.
  ASSERT_TRUE(fails.Saw(is_init));
  EXPECT_FALSE(has_failed.WaitForNotificationWithTimeout(absl::Seconds(1)));
  may_end.Notify();
  loading.join();
  EXPECT_THAT(std::string(failed.message()),
              testing::MatchesRegex("worker 1 .*: no compiler"));
  EXPECT_TRUE(slow.Saw(unloads_init));
  EXPECT_TRUE(fails.Saw(unloads_init));
}

TEST_F(RemoteSiteTest, AnInitialJobIsAbortedWithItsJob) {
  Coordinator coordinator({.limits = {.silence = absl::Minutes(10)}});
  const auto is_run = [](const Command& command) { return command.has_run(); };
  const auto answer =
      [&](const Command& command) -> std::optional<absl::Status> {
    if (is_run(command)) return std::nullopt;
    return absl::OkStatus();
  };
  ScriptedWorkerForTest one(coordinator, {.rank = 0}, answer);
  ScriptedWorkerForTest other(coordinator, {.rank = 1}, answer);
  const auto site = coordinator.Load(Source());
  ASSERT_TRUE(site.ok()) << site.status();
  auto init = (*site)->LoadInit(Placed());
  ASSERT_TRUE(init.ok()) << init.status();
  absl::Status end;
  std::thread running([&] { end = LossOf(**init).status(); });
  ASSERT_TRUE(other.Saw(is_run));
  (*site)->Abort(absl::CancelledError("it was stopped"));
  running.join();
  EXPECT_EQ(end, absl::CancelledError("it was stopped"));
}

TEST_F(RemoteSiteTest, WorkersWithoutRanksAreInTheOrderOfTheirHosts) {
  Coordinator coordinator({.limits = {.silence = absl::Minutes(10)},
                           .hosts = {"gpu01", "gpu02.cluster", ""}});
  std::vector<std::unique_ptr<ScriptedWorkerForTest>> joined;
  for (const char* host : {"other", "gpu02", "gpu0", "gpu01.cluster"}) {
    joined.push_back(std::make_unique<ScriptedWorkerForTest>(
        coordinator,
        ScriptedWorkerForTest::Options{
            .rank = -1,
            .host = host,
            .pid = 300 + static_cast<int>(joined.size())},
        ScriptedWorkerForTest::Well));
  }
  std::vector<std::string> order;
  for (const auto& worker : coordinator.workers()) {
    order.push_back(worker->hello().host());
  }
  EXPECT_THAT(order, testing::ElementsAre("gpu01.cluster", "gpu02", "other",
                                          "gpu0"));
}

TEST_F(RemoteSiteTest, WorkersOfOneProgramHaveOnePlugin) {
  const auto refusal = [this](const ScriptedWorkerForTest::Options& second) {
    Coordinator coordinator({.limits = {.silence = absl::Minutes(10)}});
    ScriptedWorkerForTest one(coordinator, {.rank = 0},
                              ScriptedWorkerForTest::Well);
    ScriptedWorkerForTest other(coordinator, second,
                                ScriptedWorkerForTest::Well);
    return coordinator.Load(Source()).status();
  };
  EXPECT_TRUE(refusal({.rank = 1}).ok());
  const absl::Status version =
      refusal({.rank = 1, .plugin = "cpu\n, PJRT 0.99"});
  EXPECT_EQ(version.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(
      std::string(version.message()),
      testing::MatchesRegex("worker 0 .* has the plug-in cpu, PJRT 0.81, "
                            "worker 1 .* cpu\\\\n, PJRT 0.99; a stage that "
                            "several workers share needs one version; .*"));
  EXPECT_THAT(std::string(refusal({.rank = 1, .platform = "cuda"}).message()),
              testing::MatchesRegex("worker 0 .* has devices of cpu, worker 1 "
                                    ".* cuda; .* needs one kind"));
}

TEST_F(RemoteSiteTest, TheNextJobOfAStepHasTheSamePrograms) {
  Coordinator coordinator({.limits = {.silence = absl::Minutes(10)}});
  ScriptedWorkerForTest one(coordinator, {.rank = 0},
                            ScriptedWorkerForTest::Well);
  ScriptedWorkerForTest other(coordinator, {.rank = 1},
                              ScriptedWorkerForTest::Well);
  std::vector<std::set<std::string>> blobs;  // By job, without its description.
  for (int i = 0; i < 2; ++i) {
    const auto before = one.commands().size();
    ASSERT_TRUE(coordinator.Load(Source()).ok());
    std::set<std::string>& hashes = blobs.emplace_back();
    const auto commands = one.commands();
    for (size_t k = before; k < commands.size(); ++k) {
      if (commands[k].has_blob()) hashes.insert(commands[k].blob().hash());
    }
    for (const Command& command : commands) {
      if (command.has_load()) hashes.erase(command.load().spec_hash());
    }
  }
  EXPECT_FALSE(blobs[0].empty());
  EXPECT_EQ(blobs[0], blobs[1]);
}

TEST_F(RemoteSiteTest, WhatOneWorkerCannotRunEndsTheJob) {
  WorkerThreadsForTest workers({.aftermath = absl::Seconds(1)});
  workers.Add(2);
  workers.Add(2);
  auto site = workers.coordinator().Load(Source());
  ASSERT_TRUE(site.ok()) << site.status();
  // Nobody has values: a mistake that can be mended.
  EXPECT_EQ(LossOf(**site).status().code(),
            absl::StatusCode::kFailedPrecondition);
  // Worker 0 has, and waits for worker 1.
  ASSERT_TRUE(Give(**site, {0, 1}).ok());
  const absl::Time begin = absl::Now();
  const absl::Status failed = LossOf(**site).status();
  EXPECT_LT(absl::Now() - begin, absl::Seconds(60));
  EXPECT_EQ(failed.code(), absl::StatusCode::kAborted) << failed;
  EXPECT_THAT(std::string(failed.message()),
              AllOf(HasSubstr("worker 1 "), HasSubstr("has no value")));
  EXPECT_EQ(LossOf(**site).status(), failed);
  // The workers are free for another job.
  *site = nullptr;
  site = workers.coordinator().Load(Source());
  ASSERT_TRUE(site.ok()) << site.status();
  ASSERT_TRUE(Give(**site, {0, 1, 2, 3}).ok());
  EXPECT_EQ(*LossOf(**site), 4);
}

}  // namespace
}  // namespace meshwright
