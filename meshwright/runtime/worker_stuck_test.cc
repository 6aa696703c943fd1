// A worker whose work does not end.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/synchronization/notification.h"
#include "meshwright/mesh/sharding_text.h"
#include "meshwright/runtime/counter_step_for_test.h"
#include "meshwright/runtime/scripted_worker_for_test.h"
#include "meshwright/runtime/worker_threads_for_test.h"

namespace meshwright {
namespace {

// Whether the worker is over.
class WorkerStuckTest : public testing::TestWithParam<bool> {};

TEST_P(WorkerStuckTest, IsToldOfOnAnyPlatform) {
  const bool is_over = GetParam();
  MemoryKeyValueStore store;
  Coordinator coordinator({.limits = {.silence = absl::Minutes(10)}});
  const auto open = [](const std::optional<ProcessTeam>& team) {
    return CpuPlugin().CreateClient({.cpu_devices = 1, .team = team});
  };
  WorkerEngine engine(open, open(std::nullopt).value());
  proto::Hello hello;
  hello.set_host("host-0");
  hello.set_pid(100);
  hello.set_platform(engine.client()->platform_name());
  hello.set_devices(1);
  hello.set_rank(0);
  MemoryLink link = MakeMemoryLink(hello, &store);
  absl::Notification begun;
  absl::Notification may_end;
  absl::Notification stuck;
  bool was_over = false;
  std::string why;
  std::thread serving([&] {
    Worker(link.coordinator.get(),
           {.engine = &engine,
            .plugin = &CpuPlugin(),
            .connect = [&](const JobSpec&, int, KeyValueStore*)
                -> absl::StatusOr<std::unique_ptr<Wire>> {
              begun.Notify();
              may_end.WaitForNotification();
              return absl::UnavailableError("nobody is there");
            },
            .stuck =
                [&](const absl::Status& status, bool over) {
                  why = std::string(status.message());
                  was_over = over;
                  stuck.Notify();
                },
            .stuck_after = absl::Milliseconds(is_over ? 500 : 20)})
        .Serve()
        .IgnoreError();
  });
  coordinator.Admit(std::move(link.worker));
  ScriptedWorkerForTest other(coordinator, {.rank = 1, .devices = 1},
                              [&](const ScriptedWorkerForTest::Command& command)
                                  -> std::optional<absl::Status> {
                                if (!command.has_load())
                                  return absl::OkStatus();
                                begun.WaitForNotification();
                                return absl::InternalError("no compiler");
                              });
  const Mesh mesh = Mesh::Parse("a=2").value();
  const Module module = CounterForTest(2);
  const Module program = CounterForTest(1, mesh.Groups(mesh.AllSubAxes()));
  const Sharding split = ParseSharding("[a]", {2}, mesh).value();
  // Aborts what worker 0 does.
  EXPECT_FALSE(
      coordinator
          .Load(MakeJob(module, {.program = program,
                                 .mesh = mesh,
                                 .parameters = {split, split},
                                 .outputs = {split, Sharding::Replicated({})}})
                    .value())
          .ok());
  if (is_over) coordinator.EndWorkers();
  EXPECT_TRUE(stuck.WaitForNotificationWithTimeout(absl::Seconds(60)));
  EXPECT_EQ(was_over, is_over);
  EXPECT_NE(why, "");
  may_end.Notify();
  coordinator.EndWorkers();
  serving.join();
}

INSTANTIATE_TEST_SUITE_P(Both, WorkerStuckTest, testing::Bool());

}  // namespace
}  // namespace meshwright
