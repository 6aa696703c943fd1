#include "meshwright/service/security.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/base/file.h"
#include "meshwright/base/message_for_test.h"
#include "meshwright/launch/host_port.h"
#include "meshwright/service/certificates_for_test.h"
#include "meshwright/service/joined_for_test.h"

namespace meshwright {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(SecurityTest, ListeningBeyondLoopbackTakesTlsAndAToken) {
  EXPECT_TRUE(CheckListen("127.0.0.1:0", {}).ok());
  const absl::Status none = CheckListen("0.0.0.0:7777", {});
  EXPECT_EQ(none.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(MessageOf(none),
            "listening at 0.0.0.0:7777 lets others than this machine in, which "
            "takes TLS and a token; add --tls-cert, --tls-key, --token-file");
  EXPECT_THAT(
      MessageOf(CheckListen("[::]:1", {.certificate = "c", .key = "k"})),
      testing::EndsWith("; add --token-file"));
  EXPECT_THAT(MessageOf(CheckListen("10.0.0.1:1", {.token = "t"})),
              testing::EndsWith("; add --tls-cert, --tls-key"));
  EXPECT_TRUE(
      CheckListen("0.0.0.0:1", {.certificate = "c", .key = "k", .token = "t"})
          .ok());
  CoordinatorForTest open({.address = "0.0.0.0:0"});
  EXPECT_EQ(open.status.code(), absl::StatusCode::kFailedPrecondition);
}

TEST(SecurityTest, TokensDoNotLeaveInTheClear) {
  EXPECT_TRUE(CheckConnect("127.0.0.1:1", {.token = "t"}).ok());
  EXPECT_EQ(MessageOf(CheckConnect("host-3:1", {.token = "t"})),
            "the token would go to host-3 in the clear; add --tls-ca");
  EXPECT_TRUE(CheckConnect("host-3:1", {.ca = "c", .token = "t"}).ok());
}

TEST(SecurityTest, ReadsFiles) {
  const std::string folder =
      ::testing::TempDir() + "security." + std::to_string(::getpid());
  std::filesystem::create_directory(folder);
  const CertificatesForTest ca;
  const auto issued = ca.Issue("IP:127.0.0.1");
  ASSERT_TRUE(WriteFileAtomically(folder + "/token", "  abc\n").ok());
  ASSERT_TRUE(WriteFileAtomically(folder + "/empty", "\n").ok());
  ASSERT_TRUE(WriteFileAtomically(folder + "/cert", issued.certificate).ok());
  ASSERT_TRUE(WriteFileAtomically(folder + "/key", issued.key).ok());
  const auto security = LoadSecurity({.certificate = folder + "/cert",
                                      .key = folder + "/key",
                                      .token = folder + "/token"});
  ASSERT_TRUE(security.ok()) << security.status();
  EXPECT_EQ(security->token, "abc");
  EXPECT_EQ(security->key, issued.key);
  EXPECT_EQ(MessageOf(LoadSecurity({.certificate = "x"}).status()),
            "--tls-cert and --tls-key go together");
  EXPECT_THAT(MessageOf(LoadSecurity({.ca = folder + "/key"}).status()),
              StartsWith("--tls-ca: " + folder + "/key holds no CERTIFICATE"));
  EXPECT_THAT(MessageOf(LoadSecurity({.token = folder + "/empty"}).status()),
              HasSubstr("is empty; make one with"));
  ::setenv("MESHWRIGHT_TOKEN", "from-the-environment", 1);
  EXPECT_EQ(LoadSecurity({})->token, "from-the-environment");
  ::unsetenv("MESHWRIGHT_TOKEN");
  EXPECT_EQ(LoadSecurity({})->token, "");
  std::filesystem::remove_all(folder);
}

TEST(SecurityTest, OnlyTheRightTokenOpens) {
  CoordinatorForTest coordinator({.security = {.token = "right"}});
  ASSERT_TRUE(coordinator.status.ok()) << coordinator.status;
  const absl::Status without = coordinator.Join().status();
  EXPECT_EQ(without.code(), absl::StatusCode::kUnauthenticated);
  EXPECT_THAT(MessageOf(without), StartsWith("the coordinator wants a token"));
  for (const char* wrong : {"wrong", "righ", "rightt", "Right"}) {
    const absl::Status status =
        coordinator.Join({.security = {.token = wrong}}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnauthenticated);
    EXPECT_THAT(MessageOf(status), StartsWith("the token is not the "));
  }
  auto worker = coordinator.Join({.security = {.token = "right"}});
  ASSERT_TRUE(worker.ok()) << worker.status();
  EXPECT_TRUE((*worker)->store().Set("key", "value").ok());
  EXPECT_EQ(*(*worker)->store().Get("key", absl::Seconds(1)), "value");
  // A coordinator without a token does not mind one.
  CoordinatorForTest open;
  EXPECT_TRUE(open.Join({.security = {.token = "any"}}).ok());
}

TEST(SecurityTest, SpeaksTls) {
  const CertificatesForTest ca;
  const auto host = ca.Issue("IP:127.0.0.1");
  CoordinatorForTest coordinator(
      {.security = {
           .certificate = host.certificate, .key = host.key, .token = "t"}});
  ASSERT_TRUE(coordinator.status.ok()) << coordinator.status;
  auto worker = coordinator.Join({.security = {.ca = ca.ca(), .token = "t"}});
  ASSERT_TRUE(worker.ok()) << worker.status();
  EXPECT_TRUE((*worker)->store().Set("key", "value").ok());

  const std::string at = coordinator.address();
  const absl::Status plain =
      coordinator.Join({.security = {.token = "t"}}).status();
  EXPECT_EQ(plain.code(), absl::StatusCode::kFailedPrecondition) << plain;
  EXPECT_EQ(MessageOf(plain),
            at + " closed the connection; if it uses TLS, add --tls-ca");
  const absl::Status stranger =
      coordinator
          .Join({.security = {.ca = CertificatesForTest().ca(), .token = "t"}})
          .status();
  EXPECT_EQ(stranger.code(), absl::StatusCode::kFailedPrecondition) << stranger;
  EXPECT_EQ(MessageOf(stranger), "the certificate of " + at +
                                     " does not pass with the CA in --tls-ca");
}

TEST(SecurityTest, SaysWhatIsWrongWithTls) {
  const CertificatesForTest ca;
  CoordinatorForTest plain;
  const absl::Status status =
      plain.Join({.security = {.ca = ca.ca()}}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_THAT(MessageOf(status), HasSubstr(" does not speak TLS; "));

  const auto elsewhere = ca.Issue("DNS:elsewhere");
  CoordinatorForTest other({.security = {.certificate = elsewhere.certificate,
                                         .key = elsewhere.key}});
  const absl::Status name = other.Join({.security = {.ca = ca.ca()}}).status();
  EXPECT_EQ(name.code(), absl::StatusCode::kFailedPrecondition) << name;
  EXPECT_THAT(MessageOf(name), HasSubstr(" names another host; "));

  const auto one = ca.Issue("IP:127.0.0.1");
  CoordinatorForTest mixed(
      {.security = {.certificate = one.certificate, .key = elsewhere.key}});
  EXPECT_EQ(mixed.status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(MessageOf(mixed.status), HasSubstr("--tls-key match?"));
}

TEST(SecurityTest, ServersWithACaAskForCertificates) {
  const CertificatesForTest ca;
  const auto host = ca.Issue("IP:127.0.0.1");
  CoordinatorForTest coordinator(
      {.security = {
           .certificate = host.certificate, .key = host.key, .ca = ca.ca()}});
  const auto worker = ca.Issue("DNS:worker");
  EXPECT_TRUE(coordinator
                  .Join({.security = {.certificate = worker.certificate,
                                      .key = worker.key,
                                      .ca = ca.ca()}})
                  .ok());
  const absl::Status without =
      coordinator
          .Join({.security = {.ca = ca.ca()},
                 .connect_timeout = absl::Milliseconds(500)})
          .status();
  EXPECT_EQ(without.code(), absl::StatusCode::kUnavailable) << without;
  EXPECT_THAT(MessageOf(without), HasSubstr("without --tls-cert?"));
}

TEST(SecurityTest, SaysWhyThereIsNoConnection) {
  const absl::Status name =
      JoinCoordinator({.address = "no-such-host.invalid:7777",
                       .connect_timeout = absl::Milliseconds(300)})
          .status();
  EXPECT_EQ(name.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(MessageOf(name),
              StartsWith("no-such-host.invalid does not resolve"));

  std::string free_address;
  {
    CoordinatorForTest gone;
    free_address = gone.address();
  }
  const absl::Status nothing =
      JoinCoordinator(
          {.address = free_address, .connect_timeout = absl::Milliseconds(300)})
          .status();
  EXPECT_EQ(nothing.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(MessageOf(nothing), "nothing listens at " + free_address);
}

TEST(SecurityTest, WorkersWaitForTheirCoordinator) {
  std::string address;
  {
    CoordinatorForTest first;
    address = first.address();
  }
  absl::StatusOr<std::unique_ptr<CoordinatorLink>> worker =
      absl::UnknownError("");
  std::thread join([&] {
    worker = JoinCoordinator(
        {.address = address, .connect_timeout = absl::Seconds(20)});
  });
  absl::SleepFor(absl::Milliseconds(500));
  CoordinatorForTest late({.address = address});
  EXPECT_TRUE(late.status.ok()) << late.status;
  join.join();
  EXPECT_TRUE(worker.ok()) << worker.status();
}

TEST(SecurityTest, OnePortOneServer) {
  CoordinatorForTest first;
  CoordinatorForTest second({.address = first.address()});
  EXPECT_EQ(second.status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(MessageOf(second.status),
            absl::StrCat("port ", first.server->port(),
                         " is in use on 127.0.0.1; choose another with "
                         "--listen"));
  CoordinatorForTest away({.address = "127.0.0.1.invalid:1"});
  EXPECT_FALSE(away.status.ok());
}

}  // namespace
}  // namespace meshwright
