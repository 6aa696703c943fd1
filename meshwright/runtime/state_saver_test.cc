#include "meshwright/runtime/state_saver.h"

#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/checkpoint/reader.h"
#include "meshwright/engine/cpu_plugin_for_test.h"
#include "meshwright/hlo/read_text.h"
#include "meshwright/mesh/sharding_text.h"
#include "meshwright/runtime/local_runner.h"
#include "meshwright/runtime/worker_threads_for_test.h"

namespace meshwright {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// w grows by x; the loss is constant. `rows` is what a device has.
Module Step(int rows) {
  return ReadModuleText(absl::StrCat(R"(
HloModule step, input_output_alias={ {0}: (0, {}, may-alias) }

ENTRY main {
  w = f32[)",
                                     rows, R"(,400] parameter(0)
  x = f32[)",
                                     rows, R"(,400] parameter(1)
  next = f32[)",
                                     rows, R"(,400] add(w, x)
  loss = f32[] constant(1)
  ROOT out = (f32[)",
                                     rows, R"(,400], f32[]) tuple(next, loss)
}
)"))
      .value();
}

Tensor Filled(std::string name, float value) {
  Tensor tensor{.name = std::move(name),
                .type = ElementType::kF32,
                .dimensions = {500, 400}};
  const std::vector<float> values(500 * 400, value);
  tensor.data.assign(reinterpret_cast<const char*>(values.data()),
                     values.size() * sizeof(float));
  return tensor;
}

// On two workers of two devices, rows split over all: 125 for each. One copy
// of each shard with `copies`.
class StateSaverTest : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    fs::remove_all(directory_);
    client_ = CpuPlugin().CreateClient({.cpu_devices = 4}).value();
    const Mesh mesh = Mesh::Parse("a=2,b=2").value();
    const auto rows = ParseSharding("[a, -]", {500, 400}, mesh).value();
    JobSource source =
        MakeJob(
            module_,
            ShardedStep{
                program_, mesh, {rows, rows}, {rows, Sharding::Replicated({})}})
            .value();
    if (!GetParam()) {
      runner_ =
          MakeLocalRunner(module_, std::move(source), client_.get()).value();
    } else {
      workers_ = std::make_unique<WorkerThreadsForTest>();
      workers_->Add(2);
      workers_->Add(2);
      auto site = workers_->coordinator().Load(std::move(source)).value();
      const Job* const job = &site->job();
      runner_ = std::make_unique<JobRunner>(module_, job, std::move(site));
    }
    ASSERT_EQ(runner_->Set({Filled("w", 1), Filled("x", 10)}),
              absl::OkStatus());
  }
  void TearDown() override {
    runner_ = nullptr;
    workers_ = nullptr;
    fs::remove_all(directory_);
  }

  SaveOptions At(int64_t step, bool in_background = false) const {
    return {.directory = directory_,
            .step = step,
            .keep_last = 2,
            .in_background = in_background};
  }
  std::string FolderOf(int64_t step) const {
    return absl::StrCat(directory_, "/step_0000000", step);
  }

  const Module module_ = Step(500);
  const Module program_ = Step(250);
  const std::string directory_ =
      absl::StrCat(testing::TempDir(), "/state_saver_", ::getpid());
  std::unique_ptr<Client> client_;
  std::unique_ptr<WorkerThreadsForTest> workers_;
  std::unique_ptr<JobRunner> runner_;
};

INSTANTIATE_TEST_SUITE_P(Sites, StateSaverTest, testing::Bool(),
                         [](const auto& test) {
                           return test.param ? "Workers" : "Local";
                         });

TEST_P(StateSaverTest, StepsRunWhileTheStateBeforeThemIsSaved) {
  for (int64_t step = 1; step <= 3; ++step) {
    ASSERT_TRUE(runner_->Step().ok());
    ASSERT_EQ(runner_->Save(At(step, /*in_background=*/true)),
              absl::OkStatus());
    ASSERT_TRUE(runner_->Step().ok());
  }
  ASSERT_EQ(runner_->AwaitSaved(), absl::OkStatus());
  EXPECT_FALSE(fs::exists(FolderOf(1)));
  for (const int64_t step : {2, 3}) {
    const auto restored = runner_->Restore(FolderOf(step));
    ASSERT_TRUE(restored.ok()) << restored.status();
    EXPECT_EQ(restored->step, step);
    const auto w = runner_->Read("w");
    EXPECT_EQ(*w, Filled("w", 1 + 10 * (2 * static_cast<float>(step) - 1)));
  }
  // Each region is there once, on every worker's part of them.
  const auto reader = CheckpointReader::Open(directory_).value();
  EXPECT_EQ(reader->manifest().files.size(), 2u);
  EXPECT_EQ(reader->manifest().tensors[0].regions.size(), 2u);
}

TEST_P(StateSaverTest, StepsGoOnWithTheNumberThatWasRestored) {
  std::vector<int64_t> numbers;
  runner_->OnStep(
      [&](int64_t number, const StepReport&) { numbers.push_back(number); });
  ASSERT_TRUE(runner_->Steps(2).ok());
  ASSERT_EQ(runner_->Save(At(7)), absl::OkStatus());
  ASSERT_TRUE(runner_->Steps(1).ok());
  ASSERT_TRUE(runner_->Restore(directory_).ok());
  ASSERT_TRUE(runner_->Steps(2).ok());
  EXPECT_EQ(*runner_->Read("w"), Filled("w", 41));
  EXPECT_THAT(numbers, testing::ElementsAre(0, 1, 2, 7, 8));
}

TEST_P(StateSaverTest, AFullDiskIsToldAndStepsRunOn) {
  ASSERT_EQ(runner_->Save(At(1)), absl::OkStatus());
  const std::vector<Tensor> saved = runner_->ReadState().value();
  ASSERT_TRUE(runner_->Step().ok());
  struct rlimit before;
  ::getrlimit(RLIMIT_FSIZE, &before);
  struct rlimit limit = before;
  limit.rlim_cur = 100'000;
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &limit);
  const absl::Status begun = runner_->Save(At(2, /*in_background=*/true));
  const auto step = runner_->Step();
  const absl::Status background = runner_->AwaitSaved();
  const absl::Status foreground = runner_->Save(At(3));
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(begun, absl::OkStatus());
  EXPECT_TRUE(step.ok()) << step.status();
  for (const absl::Status& status : {background, foreground}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(".safetensors"));
  }
  EXPECT_TRUE(runner_->Step().ok());
  EXPECT_EQ(std::distance(fs::directory_iterator(directory_), {}), 1);
  ASSERT_EQ(runner_->Restore(directory_)->step, 1);
  EXPECT_EQ(*runner_->ReadState(), saved);
}

TEST_P(StateSaverTest, DamageIsNamedAndLeavesNoHalfOfAState) {
  ASSERT_EQ(runner_->Save(At(1)), absl::OkStatus());
  const std::string file = FolderOf(1) + "/shard-00001.safetensors";
  {
    std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekp(100'000);
    bytes.put('x');
  }
  const absl::Status damaged = runner_->Restore(directory_).status();
  EXPECT_EQ(damaged.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(damaged.message()),
              HasSubstr("/step_00000001/shard-00001.safetensors"));
  EXPECT_THAT(std::string(runner_->Step().status().message()),
              HasSubstr("has no value"));
  ASSERT_EQ(runner_->Set({Filled("w", 1)}), absl::OkStatus());
  EXPECT_TRUE(runner_->Step().ok());
  fs::remove(file);
  EXPECT_THAT(std::string(runner_->Restore(directory_).status().message()),
              HasSubstr("/step_00000001/shard-00001.safetensors"));
}

TEST_P(StateSaverTest, MistakesAreNamed) {
  EXPECT_EQ(runner_->Restore(directory_).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_TRUE(runner_->Step().ok());  // Nothing was touched.
  SaveOptions odd = At(1);
  odd.extra = "[1]";
  EXPECT_THAT(std::string(runner_->Save(odd).message()),
              HasSubstr("no JSON object"));
  odd = At(-1);
  EXPECT_EQ(runner_->Save(odd).code(), absl::StatusCode::kInvalidArgument);
  // A checkpoint of another step.
  const Module other = ReadModuleText(R"(
HloModule step, input_output_alias={ {0}: (0, {}, may-alias) }

ENTRY main {
  w = f32[3] parameter(0)
  next = f32[3] add(w, w)
  ROOT out = (f32[3]) tuple(next)
}
)")
                           .value();
  const auto third = MakeLocalRunner(other, client_.get()).value();
  EXPECT_THAT(std::string(third->Save(At(1)).message()),
              HasSubstr("has no value"));
  ASSERT_EQ(third->FillSynthetic(0), absl::OkStatus());
  ASSERT_EQ(third->Save(At(1)), absl::OkStatus());
  EXPECT_THAT(std::string(runner_->Restore(directory_).status().message()),
              HasSubstr("w: is f32[3], expected f32[500,400]"));
}

}  // namespace
}  // namespace meshwright
