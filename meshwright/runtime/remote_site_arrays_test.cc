// Arrays of a client's shared memory, to workers and back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "meshwright/mesh/sharding_text.h"
#include "meshwright/runtime/counter_step_for_test.h"
#include "meshwright/runtime/job_runner.h"
#include "meshwright/runtime/remote_site.h"
#include "meshwright/runtime/scripted_worker_for_test.h"
#include "meshwright/runtime/worker_threads_for_test.h"
#include "meshwright/wire/memory_shares.h"
#include "meshwright/wire/share_memory_for_test.h"

namespace meshwright {
namespace {

using testing::ElementsAre;
using Command = proto::WorkerCommand;

class RemoteSiteArraysTest : public testing::Test {
 protected:
  RemoteSiteArraysTest() { Connect(); }
  ~RemoteSiteArraysTest() override { ::close(script_); }

  void Connect() {
    script_ = ConnectForTest(shares_->name());
    memory_ = shares_->Find(ShareForTest(script_, MakeMemfdForTest(1 << 20)));
  }
  // As a script that ends.
  void Disconnect() {
    memory_ = nullptr;
    ::close(script_);
  }
  JobSource Source(int64_t n, int64_t local) {
    program_ = CounterForTest(local, mesh_.Groups(mesh_.AllSubAxes()));
    module_ = CounterForTest(n);
    const Sharding split = ParseSharding("[a]", {n}, mesh_).value();
    return MakeJob(module_, {.program = program_,
                             .mesh = mesh_,
                             .parameters = {split, split},
                             .outputs = {split, Sharding::Replicated({})}})
        .value();
  }
  absl::Span<float> Floats(int64_t offset, int64_t count) const {
    const auto bytes = memory_->Find(offset, count * 4).value();
    return {reinterpret_cast<float*>(bytes.data()), static_cast<size_t>(count)};
  }
  static absl::Span<std::byte> BytesOf(absl::Span<float> values) {
    return {reinterpret_cast<std::byte*>(values.data()), values.size() * 4};
  }
  // A vector in the memory, whose owner it keeps in `owner_`.
  LentTensor Lend(const std::string& name, int64_t offset,
                  const std::vector<float>& values) {
    const absl::Span<float> at = Floats(offset, std::ssize(values));
    std::copy(values.begin(), values.end(), at.begin());
    const auto owner = std::make_shared<const int>(0);
    owner_ = owner;
    return {.tensor = {.name = name,
                       .type = ElementType::kF32,
                       .dimensions = {std::ssize(values)}},
            .bytes = BytesOf(at),
            .owner = owner};
  }
  bool IsReleased() const {
    const absl::Time end = absl::Now() + absl::Minutes(1);
    while (!owner_.expired() && absl::Now() < end) {
      absl::SleepFor(absl::Milliseconds(1));
    }
    return owner_.expired();
  }

  const std::unique_ptr<MemoryShares> shares_ = MemoryShares::Start().value();
  const Mesh mesh_ = Mesh::Parse("a=4").value();
  Module module_ = CounterForTest(4);
  Module program_ = CounterForTest(1);
  int script_ = -1;
  std::shared_ptr<const SharedMemory> memory_;
  std::weak_ptr<const int> owner_;
};

TEST_F(RemoteSiteArraysTest, WorkersReadAndWriteIt) {
  WorkerThreadsForTest workers;
  workers.Add(2);
  workers.Add(2);
  for (const auto& [n, local] : {std::pair<int64_t, int64_t>{8, 2}, {5, 2}}) {
    SCOPED_TRACE(n);  // The latter with padding.
    auto site = workers.coordinator().Load(Source(n, local));
    ASSERT_TRUE(site.ok()) << site.status();
    const Job& job = (*site)->job();
    JobRunner runner(module_, &job, *std::move(site));
    std::vector<float> w;
    for (int i = 0; i < n; ++i) w.push_back(static_cast<float>(i + 1));
    ASSERT_TRUE(runner.SetLent(Lend("w", 64, w)).ok());
    EXPECT_TRUE(IsReleased());
    // What is written there afterwards is not theirs.
    ASSERT_TRUE(runner.SetLent(Lend("x", 64, std::vector<float>(n, 10))).ok());
    EXPECT_TRUE(IsReleased());
    for (float& value : Floats(64, n)) value = -1;
    const auto result = runner.Step();
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->loss, static_cast<double>(n * (n + 1) / 2));
    Floats(4096, n + 1)[n] = -7;
    const auto read = runner.ReadInto("w", BytesOf(Floats(4096, n)));
    ASSERT_TRUE(read.ok()) << read.status();
    for (int i = 0; i < n; ++i) {
      EXPECT_EQ(Floats(4096, n)[i], static_cast<float>(i + 11)) << i;
    }
    EXPECT_EQ(Floats(4096, n + 1)[n], -7) << "only what is the array's";
  }
}

TEST_F(RemoteSiteArraysTest, RegionsAreSentInsteadOfBytes) {
  Coordinator coordinator({.limits = {.silence = absl::Minutes(10)}});
  const auto is_set = [](const Command& command) { return command.has_set(); };
  const auto is_map = [](const Command& command) { return command.has_map(); };
  // Worker 1 is on another machine.
  ScriptedWorkerForTest here(
      coordinator, {.rank = 0},
      [&](const Command& command) -> std::optional<absl::Status> {
        if (is_set(command)) return std::nullopt;
        return absl::OkStatus();
      });
  ScriptedWorkerForTest elsewhere(
      coordinator, {.rank = 1}, [&](const Command& command) {
        return is_map(command) ? absl::UnavailableError("no such socket")
                               : absl::OkStatus();
      });
  const auto site = coordinator.Load(Source(4, 1));
  ASSERT_TRUE(site.ok()) << site.status();
  for (const int64_t device : {0, 2, 3}) {
    const LentTensor lent = Lend("w", 64, {1, 2, 3, 4});
    ASSERT_TRUE(
        (*site)
            ->Set({.parameter = 0, .devices = {device}},
                  {.bytes = lent.bytes, .owner = lent.owner, .is_lent = true})
            .ok());
  }
  ASSERT_TRUE(here.Saw(is_set));
  ASSERT_TRUE(elsewhere.Saw(is_set));
  EXPECT_EQ(here.Count(is_map) + elsewhere.Count(is_map), 2);
  for (const Command& command : here.commands()) {
    if (is_map(command)) EXPECT_EQ(command.map().memory(), memory_->address());
    if (!is_set(command)) continue;
    EXPECT_EQ(command.set().bytes(), "");
    EXPECT_EQ(command.set().region().memory(), memory_->address());
    EXPECT_EQ(command.set().region().offset(), 64);
    EXPECT_EQ(command.set().region().size(), 16);
  }
  for (const Command& command : elsewhere.commands()) {
    if (!is_set(command)) continue;
    EXPECT_FALSE(command.set().has_region());
    EXPECT_EQ(command.set().bytes().size(), 4u);
  }
}

TEST_F(RemoteSiteArraysTest, ItIsKeptUntilWorkersHaveReadIt) {
  Coordinator coordinator({.limits = {.silence = absl::Minutes(10)}});
  absl::Notification may_reply;
  std::optional<ScriptedWorkerForTest> worker;
  worker.emplace(coordinator, ScriptedWorkerForTest::Options{.devices = 4},
                 [&](const Command& command) -> std::optional<absl::Status> {
                   if (!command.has_set()) return absl::OkStatus();
                   if (command.set().index() == 1) return std::nullopt;
                   may_reply.WaitForNotification();
                   return absl::OkStatus();
                 });
  const auto site = coordinator.Load(Source(4, 1));
  ASSERT_TRUE(site.ok()) << site.status();
  const auto set = [&](int64_t parameter) {
    const LentTensor lent = Lend("", 64, {1, 2, 3, 4});
    return (*site)->Set(
        {.parameter = parameter, .devices = {0}},
        {.bytes = lent.bytes, .owner = lent.owner, .is_lent = true});
  };
  ASSERT_TRUE(set(0).ok());
  EXPECT_FALSE(owner_.expired());
  may_reply.Notify();
  EXPECT_TRUE(IsReleased());
  // One that dies has read it, too.
  ASSERT_TRUE(set(1).ok());
  EXPECT_FALSE(owner_.expired());
  worker.reset();
  EXPECT_TRUE(IsReleased());
}

TEST_F(RemoteSiteArraysTest, WorkersLetGoOfMemoryOfScriptsThatAreGone) {
  WorkerThreadsForTest workers;
  workers.Add(4);
  auto site = workers.coordinator().Load(Source(4, 1));
  ASSERT_TRUE(site.ok()) << site.status();
  const Job& job = (*site)->job();
  JobRunner runner(module_, &job, *std::move(site));
  ASSERT_TRUE(runner.SetLent(Lend("w", 64, {1, 2, 3, 4})).ok());
  ASSERT_TRUE(runner.SetLent(Lend("x", 64, {1, 2, 3, 4})).ok());
  ASSERT_TRUE(runner.Step().ok());
  const auto is_mapped = [] {
    std::string maps;
    FILE* const file = std::fopen("/proc/self/maps", "r");
    for (int c = 0; (c = std::fgetc(file)) != EOF;) {
      maps.push_back(static_cast<char>(c));
    }
    std::fclose(file);
    return maps.find("/memfd:test") != std::string::npos;
  };
  EXPECT_TRUE(is_mapped());
  Disconnect();
  const absl::Time end = absl::Now() + absl::Minutes(1);
  while (is_mapped() && absl::Now() < end) {
    absl::SleepFor(absl::Milliseconds(5));
  }
  EXPECT_FALSE(is_mapped());
  // The job lives on, and another script has memory of its own.
  Connect();
  EXPECT_TRUE(runner.ReadInto("w", BytesOf(Floats(0, 4))).ok());
  EXPECT_THAT(Floats(0, 4), ElementsAre(2, 4, 6, 8));
}

}  // namespace
}  // namespace meshwright
