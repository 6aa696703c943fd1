#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "meshwright/runtime/accelerator_for_test.h"
#include "meshwright/runtime/action_log.h"
#include "meshwright/runtime/counter_step_for_test.h"
#include "meshwright/runtime/executor.h"
#include "meshwright/runtime/job.h"
#include "meshwright/runtime/write_programs.h"

namespace meshwright {
namespace {

using testing::ElementsAre;

class StepsInFlightTest : public testing::Test {
 protected:
  // Counts up by 10 from 1.
  void Load(const std::string& platform,
            std::function<absl::Status()> on_run = nullptr) {
    client_ = std::make_unique<AcceleratorForTest>(platform, std::nullopt,
                                                   std::move(on_run));
    JobSource source = MakeJob(module_).value();
    ASSERT_TRUE(PlaceJob({1}, source.job).ok());
    const auto programs = WritePrograms(source, 0, 7, platform).value();
    executor_ = Executor::Create(std::move(source.job), programs,
                                 {.client = client_.get(), .log = &log_})
                    .value();
    for (const int64_t parameter : {0, 1}) {
      const float value = parameter == 0 ? 1 : 10;
      ASSERT_TRUE(executor_
                      ->Set({.parameter = parameter, .devices = {0}},
                            FloatsForTest("", {value}))
                      .ok());
    }
  }

  absl::Status Run(int64_t first, int64_t count) {
    return executor_->Steps(first, count,
                            [&](int64_t number, const StepReport& report) {
                              numbers_.push_back(number);
                              losses_.push_back(report.loss.value_or(-1));
                              return absl::OkStatus();
                            });
  }

  bool IsStarted(const std::string& step) const {
    for (const std::string& line : log_.Last()) {
      if (absl::StartsWith(line, step)) return true;
    }
    return false;
  }

  const Module module_ = CounterForTest(1);
  ActionLog log_;
  std::unique_ptr<AcceleratorForTest> client_;
  std::unique_ptr<Executor> executor_;
  std::vector<int64_t> numbers_;
  std::vector<double> losses_;
};

TEST_F(StepsInFlightTest, TheNextStepIsStartedWhileOneRuns) {
  Load("cuda", [&] {
    for (int tries = 0; tries < 1000 && !IsStarted("step 8 "); ++tries) {
      absl::SleepFor(absl::Milliseconds(10));
    }
    return IsStarted("step 8 ") ? absl::OkStatus()
                                : absl::InternalError("step 8 waits");
  });
  EXPECT_EQ(Run(7, 3), absl::OkStatus());
  EXPECT_THAT(numbers_, ElementsAre(7, 8, 9));
  EXPECT_THAT(losses_, ElementsAre(1, 11, 21));
  EXPECT_EQ(executor_->Read({ShardAt::Kind::kState, 0, 0})->data,
            FloatsForTest("", {31}).data);
}

TEST_F(StepsInFlightTest, OnCpusOneStepRunsAtATime) {
  bool is_started = false;
  Load("cpu", [&] {
    is_started |= IsStarted("step 1 ") && numbers_.empty();
    return absl::OkStatus();
  });
  EXPECT_EQ(Run(0, 2), absl::OkStatus());
  EXPECT_FALSE(is_started);
  EXPECT_THAT(losses_, ElementsAre(1, 11));
}

TEST_F(StepsInFlightTest, StepsBeforeAnErrorAreReported) {
  int runs = 0;
  Load("cuda", [&] {
    return ++runs == 3 ? absl::InternalError("broken") : absl::OkStatus();
  });
  EXPECT_EQ(Run(0, 5).code(), absl::StatusCode::kInternal);
  EXPECT_THAT(numbers_, ElementsAre(0, 1));
  EXPECT_EQ(Run(5, 1).code(), absl::StatusCode::kInternal);
  EXPECT_THAT(numbers_, ElementsAre(0, 1));
}

TEST_F(StepsInFlightTest, StepsTakeTheTimeBetweenTheirEnds) {
  Load("cuda", [&] {
    absl::SleepFor(absl::Milliseconds(20));
    return absl::OkStatus();
  });
  const Stopwatch time;
  double sum = 0;
  EXPECT_EQ(executor_->Steps(0, 5,
                             [&](int64_t, const StepReport& report) {
                               sum += report.seconds;
                               return absl::OkStatus();
                             }),
            absl::OkStatus());
  EXPECT_LE(sum, time.seconds());
  EXPECT_GE(sum, 5 * 0.02);
}

}  // namespace
}  // namespace meshwright
