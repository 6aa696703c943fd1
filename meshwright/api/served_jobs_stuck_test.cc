// Jobs that do not end although they were stopped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <thread>

#include "meshwright/api/call_for_test.h"
#include "meshwright/api/served_jobs.h"
#include "meshwright/runtime/scripted_worker_for_test.h"

namespace meshwright {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr char kDoubling[] = R"(
HloModule twice, input_output_alias={ {0}: (0, {}, may-alias) }, entry_computation_layout={(f32[8]{0})->(f32[8]{0}, f32[])}

ENTRY main {
  w = f32[8]{0} parameter(0)
  next = f32[8]{0} add(w, w)
  loss = f32[] constant(1)
  ROOT out = (f32[8]{0}, f32[]) tuple(next, loss)
}
)";

TEST(ServedJobsStuckTest, WhoWaitsForThemIsToldForWhat) {
  Coordinator coordinator({.limits = {.silence = absl::Minutes(10)}});
  ScriptedWorkerForTest silent(
      coordinator, {.rank = 0},
      [](const ScriptedWorkerForTest::Command&) -> std::optional<absl::Status> {
        return std::nullopt;
      });
  ServedJobs jobs(ServedJobs::Options{.coordinator = &coordinator,
                                      .cluster = std::nullopt,
                                      .patience = absl::Milliseconds(300)});
  CallForTest call;
  const auto plan =
      jobs.Plan({kDoubling, "cpu:1", R"({"assumed": true})"}, call);
  ASSERT_TRUE(plan.ok()) << plan.status();
  CallForTest first;
  absl::Status given_up;
  std::thread loading(
      [&] { given_up = jobs.Load(kDoubling, *plan, first).status(); });
  EXPECT_TRUE(
      silent.Saw([](const auto& command) { return command.has_load(); }));
  first.is_cancelled = true;
  loading.join();
  EXPECT_EQ(given_up.code(), absl::StatusCode::kCancelled);
  // It compiles, or so it seems.
  const absl::Status second = jobs.Load(kDoubling, *plan, call).status();
  EXPECT_EQ(second.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(
      std::string(second.message()),
      AllOf(HasSubstr("job 1 (twice) was stopped, but what it has under "
                      "way has not ended within 300ms"),
            HasSubstr("worker 0 (pid 200 on scripted-0)")));
  silent.Leave();
}

}  // namespace
}  // namespace meshwright
