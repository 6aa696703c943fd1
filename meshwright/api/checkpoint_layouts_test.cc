// State saved as one plan shards it and restored as another does.
#include <unistd.h>

#include <filesystem>
#include <memory>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "meshwright/api/load_cluster.h"
#include "meshwright/api/load_step.h"
#include "meshwright/api/meshwright.h"
#include "meshwright/api/plan_step.h"
#include "meshwright/api/planned_runner.h"
#include "meshwright/checkpoint/reader.h"
#include "meshwright/engine/cpu_plugin_for_test.h"
#include "meshwright/runtime/worker_threads_for_test.h"

namespace meshwright {
namespace {

struct SavedLayout {
  std::string name;
  std::string cluster;
  api::PlanOptions options;
  bool on_workers = false;
};

std::vector<SavedLayout> Layouts() {
  std::vector<SavedLayout> layouts = {
      {"one", "cpu:1", {}},
      {"dp8", "cpu:8", {.strategy = "dp", .mesh = "data=8"}},
      {"zero3", "cpu:8", {.strategy = "zero3", .mesh = "data=8"}},
      {"tp4dp2", "cpu:8", {.strategy = "megatron", .mesh = "data=2,model=4"}},
      // The loop over layers is cut: stages have parts of the stacked arrays.
      {"pp4dp2", "cpu:8", {.mesh = "data=2", .micro_batches = 4, .stages = 4}},
      {"zero3 on workers",
       "cpu:8",
       {.strategy = "zero3", .mesh = "data=8"},
       /*on_workers=*/true}};
  for (SavedLayout& layout : layouts) layout.options.assumed = true;
  return layouts;
}

class CheckpointLayoutsTest : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::remove_all(directory_); }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string FolderOf(const SavedLayout& layout) const {
    return absl::StrCat(directory_, "/", layout.name);
  }

  const std::string directory_ =
      absl::StrCat(testing::TempDir(), "/layouts_", ::getpid());
};

TEST_F(CheckpointLayoutsTest, EveryPairOfLayoutsIsBitEqual) {
  const Module module =
      LoadStep(MW_SOURCE_DIR "/testdata/gpt_scan_tiny.hlo.pb.zst").value();
  const auto client = CpuPlugin().CreateClient({.cpu_devices = 8}).value();
  WorkerThreadsForTest workers;
  workers.Add(/*devices=*/4);
  workers.Add(/*devices=*/4);
  struct Made {
    std::unique_ptr<const LoweredPlan> lowered;
    PlannedRunner runner;
    std::vector<Tensor> state;  // As it was saved.
  };
  const std::vector<SavedLayout> layouts = Layouts();
  std::vector<Made> made(layouts.size());
  for (size_t i = 0; i < layouts.size(); ++i) {
    SCOPED_TRACE(layouts[i].name);
    const Cluster cluster = ParseClusterText(layouts[i].cluster).value();
    const auto plan = PlanStep(module, cluster, layouts[i].options,
                               RequestFrom(layouts[i].options).value(), false);
    ASSERT_TRUE(plan.ok()) << plan.status();
    made[i].lowered = LowerPlan(module, plan->plan).value();
    const Where where = layouts[i].on_workers ? Where(&workers.coordinator())
                                              : Where(client.get());
    auto runner = MakeRunner(module, *made[i].lowered, where);
    ASSERT_TRUE(runner.ok()) << runner.status();
    made[i].runner = *std::move(runner);
    Runner& one = *made[i].runner.runner;
    ASSERT_EQ(one.FillSynthetic(/*seed=*/i), absl::OkStatus());
    ASSERT_EQ(one.Save({.directory = FolderOf(layouts[i]),
                        .step = static_cast<int64_t>(i),
                        .extra = R"({"from":1})",
                        .in_background = i % 2 == 1}),
              absl::OkStatus());
    ASSERT_EQ(one.AwaitSaved(), absl::OkStatus());
    made[i].state = one.ReadState().value();
    const auto saved = CheckpointReader::Open(FolderOf(layouts[i])).value();
    EXPECT_EQ(saved->Verify(), absl::OkStatus());
    EXPECT_EQ(saved->manifest().tensors.size(), made[i].state.size());
  }
  for (size_t from = 0; from < layouts.size(); ++from) {
    for (size_t to = 0; to < layouts.size(); ++to) {
      SCOPED_TRACE(layouts[from].name + " to " + layouts[to].name);
      Runner& runner = *made[to].runner.runner;
      const auto restored = runner.Restore(FolderOf(layouts[from]));
      ASSERT_TRUE(restored.ok()) << restored.status();
      EXPECT_EQ(restored->step, static_cast<int64_t>(from));
      EXPECT_EQ(restored->extra, R"({"from":1})");
      const auto state = runner.ReadState();
      ASSERT_TRUE(state.ok()) << state.status();
      ASSERT_EQ(state->size(), made[from].state.size());
      for (size_t k = 0; k < state->size(); ++k) {
        ASSERT_EQ((*state)[k], made[from].state[k]) << (*state)[k].name;
      }
    }
  }
  // All of them have the same state now, and go on from it alike. They have
  // the same data, too.
  std::vector<double> losses;
  for (Made& one : made) {
    ASSERT_EQ(one.runner.runner->FillSynthetic(0), absl::OkStatus());
    ASSERT_TRUE(one.runner.runner->Restore(FolderOf(layouts.back())).ok());
    const auto step = one.runner.runner->Step();
    ASSERT_TRUE(step.ok()) << step.status();
    losses.push_back(*step->loss);
    EXPECT_NEAR(losses.back(), losses.front(), 1e-5 * losses.front());
  }
  for (Made& one : made) one.runner = {};
}

}  // namespace
}  // namespace meshwright
