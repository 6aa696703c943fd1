#include "meshwright/runtime/local_runner.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/engine/plugin.h"
#include "meshwright/hlo/verify.h"
#include "meshwright/runtime/counter_step_for_test.h"

namespace meshwright {
namespace {

using testing::HasSubstr;

class LocalRunnerTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto file = FindPlugin("cpu");
    ASSERT_TRUE(file.ok()) << file.status();
    const auto plugin = Plugin::Load(*file);
    ASSERT_TRUE(plugin.ok()) << plugin.status();
    client_ = (*plugin)->CreateClient({}).value();
    ASSERT_TRUE(Verify(module_).ok()) << Verify(module_);
    runner_ = MakeLocalRunner(module_, client_.get()).value();
  }

  const Module module_ = CounterForTest(2);
  std::unique_ptr<Client> client_;
  std::unique_ptr<JobRunner> runner_;
};

TEST_F(LocalRunnerTest, StateFeedsTheNextStep) {
  ASSERT_TRUE(
      runner_->Set({FloatsForTest("w", {1, 2}), FloatsForTest("x", {10, 20})})
          .ok());
  for (const double want : {3.0, 33.0, 63.0}) {
    const auto step = runner_->Step();
    ASSERT_TRUE(step.ok()) << step.status();
    EXPECT_EQ(step->loss, want);
    EXPECT_GT(step->seconds, 0);
  }
  const auto state = runner_->ReadState();
  ASSERT_TRUE(state.ok());
  ASSERT_EQ(state->size(), 1u);
  EXPECT_EQ((*state)[0], FloatsForTest("w", {31, 62}));
}

TEST_F(LocalRunnerTest, DataChangesBetweenSteps) {
  ASSERT_TRUE(
      runner_->Set({FloatsForTest("w", {0, 0}), FloatsForTest("x", {1, 0})})
          .ok());
  ASSERT_TRUE(runner_->Step().ok());
  ASSERT_TRUE(runner_->Set({FloatsForTest("x", {0, 100})}).ok());
  EXPECT_EQ(runner_->Step()->loss, 1);
  EXPECT_EQ(runner_->Step()->loss, 101);
}

TEST_F(LocalRunnerTest, StepsTakeWhatWasStagedForThem) {
  const auto stage = [&](int64_t batch, std::vector<float> values) {
    return runner_->Stage(batch,
                          {.tensor = FloatsForTest("x", std::move(values))});
  };
  ASSERT_TRUE(runner_->Set({FloatsForTest("w", {0, 0})}).ok());
  for (int64_t batch = 1; batch <= 4; ++batch) {
    const auto value = static_cast<float>(batch);
    ASSERT_EQ(stage(batch, {value, 10 * value}), absl::OkStatus());
  }
  EXPECT_EQ(runner_->Step().status().code(),
            absl::StatusCode::kFailedPrecondition);  // None is taken.
  for (const int64_t batch : {1, 3}) {               // Nobody wanted 2.
    ASSERT_EQ(runner_->TakeStaged(batch), absl::OkStatus());
    ASSERT_TRUE(runner_->Step().ok());
  }
  ASSERT_TRUE(runner_->Step().ok());  // Still 3.
  EXPECT_EQ(runner_->ReadState().value()[0], FloatsForTest("w", {7, 70}));

  EXPECT_EQ(runner_->TakeStaged(2).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(stage(3, {0, 0}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(stage(5, {0, 0, 0}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(runner_->TakeStaged(5).code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(
      std::string(
          runner_->Stage(5, {.tensor = FloatsForTest("w", {})}).message()),
      HasSubstr("w is state"));
  for (int64_t batch = 5; batch < 12; ++batch) {  // With 4, eight.
    ASSERT_EQ(stage(batch, {0, 0}), absl::OkStatus());
  }
  EXPECT_EQ(stage(12, {0, 0}).code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(LocalRunnerTest, SyntheticInputsDependOnTheSeedAlone) {
  ASSERT_TRUE(runner_->FillSynthetic(1).ok());
  const double first = *runner_->Step()->loss;
  ASSERT_TRUE(runner_->FillSynthetic(2).ok());
  EXPECT_NE(*runner_->Step()->loss, first);
  ASSERT_TRUE(runner_->FillSynthetic(1).ok());
  EXPECT_EQ(*runner_->Step()->loss, first);
}

TEST_F(LocalRunnerTest, MistakesAreNamed) {
  const auto no_value = runner_->Step().status();
  EXPECT_EQ(no_value.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(no_value.message()), HasSubstr("\"w\" has no value"));
  const auto unknown = runner_->Set({FloatsForTest("v", {1, 2})});
  EXPECT_THAT(std::string(unknown.message()), HasSubstr("no parameter \"v\""));
  const auto misfit = runner_->Set({FloatsForTest("w", {1, 2, 3})});
  EXPECT_EQ(misfit.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(misfit.message()), HasSubstr("f32[3]"));
}

}  // namespace
}  // namespace meshwright
