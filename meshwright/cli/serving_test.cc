#include "meshwright/cli/serving.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "meshwright/service/job_client.h"
#include "meshwright/service/worker_client.h"

namespace meshwright {
namespace {

using testing::HasSubstr;

TEST(ServingTest, AWorkerThatIsForgottenBeforeALookIsGone) {
  auto serving = Serving::Start({.listen = "127.0.0.1:0"});
  ASSERT_TRUE(serving.ok()) << serving.status();
  const std::string address = absl::StrCat("127.0.0.1:", (*serving)->port());
  const auto jobs = ConnectJobs({.address = address});
  ASSERT_TRUE(jobs.ok()) << jobs.status();
  JobCall call;
  // Whether the coordinator says this of its workers, within a minute.
  const auto says = [&](const std::string& text) {
    const absl::Time end = absl::Now() + absl::Minutes(1);
    while (absl::Now() < end) {
      if (absl::StrContains((*jobs)->Describe(call).value_or(""), text)) {
        return true;
      }
      absl::SleepFor(absl::Milliseconds(5));
    }
    return false;
  };
  proto::Hello hello;
  hello.set_host("host-3");
  hello.set_devices(2);
  auto link = JoinCoordinator({.address = address, .hello = hello});
  ASSERT_TRUE(link.ok()) << link.status();
  ASSERT_TRUE(says("\"ready\""));
  testing::internal::CaptureStdout();
  (*serving)->Look();
  EXPECT_THAT(testing::internal::GetCapturedStdout(),
              HasSubstr("; 1 worker\n"));
  *link = nullptr;
  ASSERT_TRUE(says("\"lost\""));
  // A job that begins forgets those who are lost.
  EXPECT_FALSE((*jobs)->Load("no module", "no plan", call).ok());
  ASSERT_TRUE(says("\"workers\":[]"));
  testing::internal::CaptureStdout();
  (*serving)->Look();
  EXPECT_THAT(testing::internal::GetCapturedStdout(),
              testing::ContainsRegex("worker 0 .* is gone: .*; 0 workers\n"));
}

}  // namespace
}  // namespace meshwright
