// Workers whose devices are one platform's, with collectives of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "meshwright/mesh/sharding_text.h"
#include "meshwright/runtime/abortable_store.h"
#include "meshwright/runtime/accelerator_for_test.h"
#include "meshwright/runtime/counter_step_for_test.h"
#include "meshwright/runtime/executor.h"
#include "meshwright/runtime/stuck_guard.h"
#include "meshwright/runtime/worker_engine.h"
#include "meshwright/runtime/write_programs.h"
#include "meshwright/wire/memory_key_value_store.h"

namespace meshwright {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int kDevices = AcceleratorForTest::kDevices;
constexpr int kWorkers = 2;

class WorkerTeamTest : public testing::Test {
 protected:
  // Split over the devices of all workers.
  JobSource Source() const {
    const Sharding split = ParseSharding("[a]", {4}, mesh_).value();
    JobSource source =
        MakeJob(module_, {.program = program_,
                          .mesh = mesh_,
                          .parameters = {split, split},
                          .outputs = {split, Sharding::Replicated({})}})
            .value();
    EXPECT_TRUE(PlaceJob({kDevices, kDevices}, source.job).ok());
    return source;
  }
  JobSpec Spec(int64_t id) const { return {.id = id, .job = Source().job}; }
  // The whole step on one device.
  JobSpec SpecOfOne() const {
    JobSpec spec{.job = MakeJob(module_).value().job};
    EXPECT_TRUE(PlaceJob({kDevices}, spec.job).ok());
    return spec;
  }

  const Mesh mesh_ = Mesh::Parse("a=4").value();
  const Module module_ = CounterForTest(4);
  const Module program_ = CounterForTest(1, mesh_.Groups(mesh_.AllSubAxes()));
};

TEST_F(WorkerTeamTest, ProgramsAreForAllDevicesAndRunOnTheOwn) {
  JobSource source = Source();
  EXPECT_TRUE(source.job.SpansWorkers());
  const auto programs = WritePrograms(source, 1, 7, "cuda");
  ASSERT_TRUE(programs.ok()) << programs.status();
  EXPECT_FALSE(absl::StrContains(programs->at(0), "meshwright_collective"));
  EXPECT_EQ(*programs, *WritePrograms(source, 0, 7, "cuda"));
  EXPECT_TRUE(absl::StrContains(WritePrograms(source, 1, 7, "cpu")->at(0),
                                "meshwright_collective"));
  const absl::Status other = WritePrograms(source, 1, 7, "tpu").status();
  EXPECT_EQ(other.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(other.message()), HasSubstr("not for tpu"));

  AcceleratorForTest client("cuda",
                            ProcessTeam{.process = 1, .processes = kWorkers});
  const auto executor = Executor::Create(std::move(source.job), *programs,
                                         {.client = &client, .worker = 1});
  ASSERT_TRUE(executor.ok()) << executor.status();
  EXPECT_EQ(client.compiled().num_replicas, 4);
  EXPECT_THAT(client.compiled().device_ids, ElementsAre(0, 1, 2, 3));
  for (int64_t device = 0; device < 4; ++device) {
    const auto value = static_cast<float>(device);
    EXPECT_TRUE((*executor)
                    ->Set({.parameter = 0, .devices = {device}},
                          FloatsForTest("", {value}))
                    .ok());
  }
  EXPECT_TRUE((*executor)
                  ->Set({.parameter = 1, .devices = {0, 1, 2, 3}},
                        FloatsForTest("", {10}))
                  .ok());
  const absl::Status ran = (*executor)->Steps(
      0, 1, [](int64_t, const StepReport&) { return absl::OkStatus(); });
  ASSERT_TRUE(ran.ok()) << ran;
  EXPECT_FALSE((*executor)->IsHere({ShardAt::Kind::kState, 0, 1}));
  EXPECT_EQ((*executor)->Read({ShardAt::Kind::kState, 0, 2})->data,
            FloatsForTest("", {12}).data);
  EXPECT_EQ((*executor)->Read({ShardAt::Kind::kState, 0, 3})->data,
            FloatsForTest("", {13}).data);
}

TEST_F(WorkerTeamTest, DevicesAreOpenedAsTheJobNeedsThem) {
  std::vector<int> opened;  // By how many processes.
  const WorkerEngine::Open open = [&](const std::optional<ProcessTeam>& team) {
    opened.push_back(team.has_value() ? team->processes : 0);
    return absl::StatusOr<std::unique_ptr<Client>>(
        std::make_unique<AcceleratorForTest>("cuda", team));
  };
  WorkerEngine engine(open, *open(std::nullopt));
  const auto store = std::make_shared<MemoryKeyValueStore>();
  ASSERT_TRUE(engine.PrepareFor(SpecOfOne(), 0, store).ok());
  EXPECT_THAT(opened, ElementsAre(0));
  ASSERT_TRUE(engine.PrepareFor(Spec(1), 1, store).ok());
  EXPECT_TRUE(engine.is_of_team());
  EXPECT_EQ(engine.client()->devices()[0]->id(), kDevices);
  // Anew: the group of the job before may have lost members.
  ASSERT_TRUE(engine.PrepareFor(Spec(2), 0, store).ok());
  ASSERT_TRUE(engine.PrepareFor(SpecOfOne(), 0, store).ok());
  EXPECT_FALSE(engine.is_of_team());
  EXPECT_THAT(opened, ElementsAre(0, kWorkers, kWorkers, 0));
}

TEST_F(WorkerTeamTest, TeamsOfJobsDoNotMeetInTheStore) {
  const auto store = std::make_shared<MemoryKeyValueStore>();
  std::vector<ProcessTeam> teams;
  const WorkerEngine::Open open = [&](const std::optional<ProcessTeam>& team) {
    if (team.has_value()) teams.push_back(*team);
    return absl::StatusOr<std::unique_ptr<Client>>(
        std::make_unique<AcceleratorForTest>("cuda", team));
  };
  WorkerEngine engine(open, *open(std::nullopt));
  ASSERT_TRUE(engine.PrepareFor(Spec(1), 0, store).ok());
  ASSERT_TRUE(engine.PrepareFor(Spec(1), 1, store).ok());
  ASSERT_TRUE(engine.PrepareFor(Spec(2), 0, store).ok());
  ASSERT_TRUE(teams[0].set("nccl", "id of job 1").ok());
  EXPECT_EQ(*teams[1].get("nccl", absl::Seconds(1)), "id of job 1");
  EXPECT_EQ(teams[2].get("nccl", absl::ZeroDuration()).status().code(),
            absl::StatusCode::kDeadlineExceeded);
}

TEST_F(WorkerTeamTest, AWorkerThatCannotOpenSaysSoAndTriesAgain) {
  bool fails = false;
  const WorkerEngine::Open open = [&](const std::optional<ProcessTeam>& team)
      -> absl::StatusOr<std::unique_ptr<Client>> {
    if (fails) return absl::UnavailableError("no GPU");
    return std::make_unique<AcceleratorForTest>("cuda", team);
  };
  WorkerEngine engine(open, *open(std::nullopt));
  const auto store = std::make_shared<MemoryKeyValueStore>();
  fails = true;
  EXPECT_EQ(engine.PrepareFor(Spec(1), 0, store).message(), "no GPU");
  EXPECT_EQ(engine.client(), nullptr);
  fails = false;
  EXPECT_TRUE(engine.PrepareFor(SpecOfOne(), 0, store).ok());
  EXPECT_NE(engine.client(), nullptr);
}

TEST(AbortableStoreTest, WhoWaitsIsToldWhy) {
  MemoryKeyValueStore beneath;
  AbortableStore store(&beneath);
  ASSERT_TRUE(store.Set("here", "1").ok());
  EXPECT_EQ(*store.Get("here", absl::ZeroDuration()), "1");
  EXPECT_EQ(store.Get("absent", absl::ZeroDuration()).status().code(),
            absl::StatusCode::kDeadlineExceeded);
  absl::Status waited;
  std::thread waiting(
      [&] { waited = store.Get("absent", absl::Minutes(5)).status(); });
  absl::SleepFor(absl::Milliseconds(20));
  const absl::Time before = absl::Now();
  store.Abort(absl::AbortedError("worker 1 left"));
  waiting.join();
  EXPECT_LT(absl::Now() - before, absl::Seconds(60));
  EXPECT_EQ(waited, absl::AbortedError("worker 1 left"));
  EXPECT_EQ(store.Set("here", "2"), absl::AbortedError("worker 1 left"));
}

TEST(StuckGuardTest, OnlyWhatDoesNotEndIsStuck) {
  absl::Notification stuck;
  StuckGuard guard(absl::Milliseconds(50), [&] { stuck.Notify(); });
  guard.Expire();  // Nothing is under way.
  guard.Enter();
  guard.Expire();
  guard.Leave();
  guard.Enter();
  EXPECT_FALSE(stuck.WaitForNotificationWithTimeout(absl::Milliseconds(200)));
  guard.Expire();
  EXPECT_TRUE(stuck.WaitForNotificationWithTimeout(absl::Seconds(60)));
}

}  // namespace
}  // namespace meshwright
