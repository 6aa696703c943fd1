// Data of later steps that are transferred while others run.
#include <atomic>
#include <thread>

#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "meshwright/api/served_jobs_for_test.h"

namespace meshwright {
namespace {

class StagedDataTest : public ServedJobsTest {};

TEST_F(StagedDataTest, ComeWhileStepsRun) {
  const int64_t job = Loaded(PlanFor("cpu:4", R"({"mesh": {"data": 4}})"));
  CallForTest call;
  std::atomic<int64_t> seen = 0;
  std::thread caller([&] {
    TensorSource none;
    const absl::Status end = jobs_->Step(
        job, 1'000'000'000, none,
        [&](const JobStep&) {
          ++seen;
          return absl::OkStatus();
        },
        call);
    EXPECT_EQ(end.code(), absl::StatusCode::kCancelled);
  });
  while (seen < 3) absl::SleepFor(absl::Milliseconds(5));
  for (int batch = 1; batch <= 3; ++batch) {
    TensorsForTest data({Filled("x", {16, 8}, static_cast<float>(batch))});
    EXPECT_EQ(jobs_->Stage(job, batch, data, call_), absl::OkStatus());
  }
  call.is_cancelled = true;
  caller.join();
  TensorsForTest w({Filled("w", {8, 4}, 1)});
  ASSERT_EQ(jobs_->Init(job, {}, w, call_), absl::OkStatus());
  std::vector<JobStep> steps;
  const auto take = [&](int64_t batch) {
    TensorsForTest staged({}, batch);
    return jobs_->Step(
        job, 1, staged,
        [&](const JobStep& step) {
          steps.push_back(step);
          return absl::OkStatus();
        },
        call_);
  };
  ASSERT_EQ(take(2), absl::OkStatus());
  EXPECT_NEAR(*steps.back().loss, 4 * 64, 1e-2);
  EXPECT_EQ(take(1).code(), absl::StatusCode::kNotFound);
  ASSERT_EQ(jobs_->Init(job, {}, w, call_), absl::OkStatus());
  ASSERT_EQ(take(3), absl::OkStatus());
  TensorsForTest misfit({Filled("x", {16, 9}, 1)});
  EXPECT_EQ(jobs_->Stage(job, 4, misfit, call_).code(),
            absl::StatusCode::kInvalidArgument);
  TensorsForTest none;
  EXPECT_EQ(jobs_->Stage(job, 0, none, call_).code(),
            absl::StatusCode::kInvalidArgument);
  ASSERT_EQ(jobs_->Stop(job), absl::OkStatus());
  EXPECT_EQ(jobs_->Stage(job, 5, none, call_).code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace meshwright
