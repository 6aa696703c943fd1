// The same with a GPU, where there is one: it stands for eight.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "meshwright/engine/plugin.h"
#include "meshwright/mesh/sharding_text.h"
#include "meshwright/runtime/counter_step_for_test.h"
#include "meshwright/runtime/executor.h"
#include "meshwright/runtime/worker_engine.h"
#include "meshwright/runtime/write_programs.h"
#include "meshwright/wire/memory_key_value_store.h"

namespace meshwright {
namespace {

constexpr int kCudaWorkers = 8;

class WorkerTeamCudaTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto file = FindPlugin("cuda");
    if (!file.ok()) GTEST_SKIP() << "needs a GPU";
    const auto plugin = Plugin::Load(*file);
    ASSERT_TRUE(plugin.ok()) << plugin.status();
    plugin_ = *plugin;
  }

  absl::StatusOr<std::unique_ptr<Client>> Open(
      const std::optional<ProcessTeam>& team) const {
    ClientOptions options{.team = team, .values = {{"preallocate", false}}};
    if (team.has_value() && team->processes > 1) {
      // The others are made up; collectives do nothing.
      options.values["enable_mock_nccl"] = true;
      options.values["mock_gpu_topology"] = std::string("1x8x1");
    }
    return plugin_->CreateClient(options);
  }

  const Plugin* plugin_ = nullptr;
};

TEST_F(WorkerTeamCudaTest, ATeamOfOneFindsItself) {
  MemoryKeyValueStore store;
  const auto client = Open(ProcessTeam{
      .get = [&](const std::string& key,
                 absl::Duration timeout) { return store.Get(key, timeout); },
      .set =
          [&](const std::string& key, std::string value) {
            return store.Set(key, std::move(value));
          }});
  ASSERT_TRUE(client.ok()) << client.status();
  EXPECT_EQ((*client)->devices().size(), (*client)->all_devices().size());
}

TEST_F(WorkerTeamCudaTest, OneOfEightRunsItsShardAndThenAlone) {
  const Mesh mesh = Mesh::Parse("a=8").value();
  const Module module = CounterForTest(8);
  const Module program = CounterForTest(1, mesh.Groups(mesh.AllSubAxes()));
  const Sharding split = ParseSharding("[a]", {8}, mesh).value();
  JobSource source =
      MakeJob(module, {.program = program,
                       .mesh = mesh,
                       .parameters = {split, split},
                       .outputs = {split, Sharding::Replicated({})}})
          .value();
  ASSERT_TRUE(PlaceJob(std::vector<int64_t>(kCudaWorkers, 1), source.job).ok());
  const auto programs = WritePrograms(source, 0, 1, "cuda");
  ASSERT_TRUE(programs.ok()) << programs.status();

  auto alone = Open(std::nullopt);
  ASSERT_TRUE(alone.ok()) << alone.status();
  WorkerEngine engine([this](const auto& team) { return Open(team); },
                      *std::move(alone));
  const auto store = std::make_shared<MemoryKeyValueStore>();
  JobSpec spec{.id = 1, .job = std::move(source.job)};
  const absl::Status prepared = engine.PrepareFor(spec, 0, store);
  ASSERT_TRUE(prepared.ok()) << prepared;
  EXPECT_EQ(engine.client()->devices().size(), 1u);
  EXPECT_EQ(engine.client()->all_devices().size(), 8u);
  {
    const auto executor = Executor::Create(std::move(spec.job), *programs,
                                           {.client = engine.client()});
    ASSERT_TRUE(executor.ok()) << executor.status();
    for (const int64_t parameter : {0, 1}) {
      EXPECT_TRUE((*executor)
                      ->Set({.parameter = parameter, .devices = {0}},
                            FloatsForTest("", {3}))
                      .ok());
    }
    const absl::Status ran = (*executor)->Steps(
        0, 1, [](int64_t, const StepReport&) { return absl::OkStatus(); });
    ASSERT_TRUE(ran.ok()) << ran;
    EXPECT_EQ((*executor)->Read({ShardAt::Kind::kState, 0, 0})->data,
              FloatsForTest("", {6}).data);
  }
  JobSpec other{.id = 2, .job = MakeJob(module).value().job};
  ASSERT_TRUE(PlaceJob({1}, other.job).ok());
  const absl::Status reopened = engine.PrepareFor(other, 0, store);
  ASSERT_TRUE(reopened.ok()) << reopened;
  EXPECT_EQ(engine.client()->all_devices().size(), 1u);
}

}  // namespace
}  // namespace meshwright
