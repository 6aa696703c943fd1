// Workers join a coordinator over loopback, talk, leave and die.
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/base/message_for_test.h"
#include "meshwright/base/version.h"
#include "meshwright/service/joined_for_test.h"
#include "meshwright/service/limits.h"

namespace meshwright {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kChildVariable[] = "MESHWRIGHT_TEST_COORDINATOR";

proto::WorkerReport ReportOfStep(int64_t step) {
  proto::WorkerReport report;
  report.mutable_step()->set_step(step);
  return report;
}

proto::WorkerCommand RunCommand(int64_t first) {
  proto::WorkerCommand command;
  command.mutable_run()->set_first(first);
  return command;
}

TEST(WorkerLinkTest, CarriesCommandsAndReportsInOrder) {
  CoordinatorForTest coordinator;
  ASSERT_TRUE(coordinator.status.ok()) << coordinator.status;
  proto::Hello hello;
  hello.set_host("host-3");
  hello.set_pid(812);
  auto worker = coordinator.Join({.hello = hello});
  ASSERT_TRUE(worker.ok()) << worker.status();
  EventsForTest events;
  std::unique_ptr<WorkerLink> link = coordinator.joined.Take();
  ASSERT_NE(link, nullptr);
  EXPECT_EQ(link->hello().host(), "host-3");
  EXPECT_EQ(link->hello().version(), Version());
  EXPECT_EQ(link->hello().protocol(), kProtocol);
  // What comes before Start() is kept for it.
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE((*worker)->Send(ReportOfStep(i)).ok());
    ASSERT_TRUE(link->Send(RunCommand(i)).ok());
  }
  link->Start(events.Events());
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(events.reports.Take().step().step(), i);
    EXPECT_EQ((*worker)->Next()->run().first(), i);
  }
  // A worker that leaves has said all.
  ASSERT_TRUE((*worker)->Send(ReportOfStep(100)).ok());
  worker->reset();
  EXPECT_EQ(events.reports.Take().step().step(), 100);
  const absl::Status lost = events.lost.Take();
  EXPECT_EQ(lost.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(MessageOf(lost), "host-3 (pid 812) left");
  EXPECT_EQ(link->Send(RunCommand(0)).code(), absl::StatusCode::kUnavailable);
}

TEST(WorkerLinkTest, WorkersNoticeThatTheCoordinatorEnds) {
  CoordinatorForTest coordinator;
  auto worker = coordinator.Join();
  ASSERT_TRUE(worker.ok()) << worker.status();
  std::unique_ptr<WorkerLink> link = coordinator.joined.Take();
  // The last command still comes.
  proto::WorkerCommand shutdown;
  shutdown.mutable_shutdown()->set_why("enough");
  ASSERT_TRUE(link->Send(shutdown).ok());
  link.reset();
  EXPECT_EQ((*worker)->Next()->shutdown().why(), "enough");
  const absl::Status over = (*worker)->Next().status();
  EXPECT_EQ(over.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(MessageOf(over), EndsWith("ended the connection"));

  auto other = coordinator.Join();
  ASSERT_TRUE(other.ok()) << other.status();
  coordinator.server.reset();
  EXPECT_EQ((*other)->Next().status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ((*other)->Send(ReportOfStep(0)).code(),
            absl::StatusCode::kUnavailable);
}

TEST(WorkerLinkTest, LinksMayBeDestroyedByTheirEvents) {
  CoordinatorForTest coordinator;
  auto worker = coordinator.Join();
  ASSERT_TRUE(worker.ok()) << worker.status();
  auto link =
      std::make_shared<std::unique_ptr<WorkerLink>>(coordinator.joined.Take());
  (*link)->Start({.report = [link](proto::WorkerReport) { link->reset(); },
                  .lost = [](absl::Status) { FAIL() << "lost"; }});
  ASSERT_TRUE((*worker)->Send(ReportOfStep(0)).ok());
  EXPECT_EQ((*worker)->Next().status().code(), absl::StatusCode::kUnavailable);
}

TEST(WorkerLinkTest, OtherVersionsAreRefused) {
  CoordinatorForTest coordinator;
  proto::Hello hello;
  hello.set_host("host-3");
  hello.set_pid(812);
  hello.set_version("0.0.9");
  const absl::Status old = coordinator.Join({.hello = hello}).status();
  EXPECT_EQ(old.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(MessageOf(old), absl::StrCat("worker host-3 (pid 812) runs "
                                         "meshwright 0.0.9, the coordinator ",
                                         Version(), "; install the same"));
  hello.clear_version();
  hello.set_protocol(kProtocol + 1);
  const absl::Status other = coordinator.Join({.hello = hello}).status();
  EXPECT_EQ(other.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(MessageOf(other), HasSubstr("speaks protocol 2"));
  EXPECT_EQ(coordinator.joined.size(), 0);
}

TEST(WorkerLinkTest, LargeMessagesAreRefusedBeforeTheyAreSent) {
  CoordinatorForTest coordinator;
  auto worker = coordinator.Join();
  ASSERT_TRUE(worker.ok()) << worker.status();
  proto::WorkerReport report;
  report.mutable_part()->set_bytes(std::string(kMaxMessageBytes + 1, 'x'));
  const absl::Status status = (*worker)->Send(report);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(MessageOf(status), HasSubstr("in parts of 2097152"));
  report.mutable_part()->set_bytes(std::string(4 << 20, 'x'));
  EXPECT_TRUE((*worker)->Send(report).ok());
}

// Runs this test program again, as a worker that joins and waits.
pid_t SpawnWorker(const std::string& address) {
  ::setenv(kChildVariable, address.c_str(), 1);
  char program[] = "/proc/self/exe";
  char filter[] = "--gtest_filter=WorkerChild.Joins";
  char* const arguments[] = {program, filter, nullptr};
  pid_t pid = 0;
  const int error =
      ::posix_spawn(&pid, program, nullptr, nullptr, arguments, environ);
  ::unsetenv(kChildVariable);
  return error == 0 ? pid : -1;
}

TEST(WorkerChild, Joins) {
  const char* address = std::getenv(kChildVariable);
  if (address == nullptr) GTEST_SKIP() << "only in child processes";
  auto link = JoinCoordinator({.address = address});
  ASSERT_TRUE(link.ok()) << link.status();
  while ((*link)->Next().ok()) {
  }
}

// A worker in a process of its own, until the test ends.
class Child {
 public:
  explicit Child(const std::string& address) : pid_(SpawnWorker(address)) {}
  ~Child() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }

 private:
  const pid_t pid_;
};

TEST(WorkerLinkTest, KilledWorkersAreLostAtOnce) {
  CoordinatorForTest coordinator;
  const Child child(coordinator.address());
  ASSERT_GT(child.pid(), 0);
  EventsForTest events;
  std::unique_ptr<WorkerLink> link = coordinator.joined.Take();
  ASSERT_NE(link, nullptr);
  EXPECT_EQ(link->hello().pid(), child.pid());
  link->Start(events.Events());
  const absl::Time killed = absl::Now();
  ::kill(child.pid(), SIGKILL);
  const absl::Status lost = events.lost.Take();
  // Not only once they miss a sign of life.
  EXPECT_LT(absl::Now() - killed, absl::Seconds(5));
  EXPECT_EQ(lost.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(MessageOf(lost), StartsWith("lost the connection to "));
  EXPECT_THAT(MessageOf(lost),
              EndsWith(absl::StrCat(" (pid ", child.pid(), ")")));
}

TEST(WorkerLinkTest, SilentWorkersAreLost) {
  CoordinatorForTest coordinator(
      {.keepalive_time = absl::Milliseconds(300),
       .keepalive_timeout = absl::Milliseconds(700)});
  const Child child(coordinator.address());
  ASSERT_GT(child.pid(), 0);
  EventsForTest events;
  std::unique_ptr<WorkerLink> link = coordinator.joined.Take();
  ASSERT_NE(link, nullptr);
  link->Start(events.Events());
  // One that lives is kept.
  absl::SleepFor(absl::Seconds(2));
  EXPECT_EQ(events.lost.size(), 0);
  ::kill(child.pid(), SIGSTOP);
  const absl::Time stopped = absl::Now();
  EXPECT_EQ(events.lost.Take().code(), absl::StatusCode::kUnavailable);
  EXPECT_LT(absl::Now() - stopped, absl::Seconds(5));
}

TEST(WorkerLinkTest, TextThatIsNoUtf8Passes) {
  CoordinatorForTest coordinator;
  auto worker = coordinator.Join();
  ASSERT_TRUE(worker.ok()) << worker.status();
  EventsForTest events;
  std::unique_ptr<WorkerLink> link = coordinator.joined.Take();
  link->Start(events.Events());
  proto::WorkerReport report;
  report.mutable_reply()->set_message("caf\xc3\xa9 \xff");
  ASSERT_TRUE((*worker)->Send(report).ok());
  EXPECT_EQ(events.reports.Take().reply().message(), "caf\xc3\xa9 ?");
  proto::WorkerCommand command;
  command.mutable_abort()->set_why("\xc3");
  ASSERT_TRUE(link->Send(command).ok());
  EXPECT_EQ((*worker)->Next()->abort().why(), "?");
}

TEST(WorkerLinkTest, ManyWorkersComeAndGo) {
  constexpr int kWorkers = 64;
  CoordinatorForTest coordinator;
  std::vector<std::thread> threads;
  for (int i = 0; i < kWorkers; ++i) {
    threads.emplace_back([&, i] {
      proto::Hello hello;
      hello.set_rank(i);
      auto worker = coordinator.Join({.hello = hello});
      ASSERT_TRUE(worker.ok()) << worker.status();
      ASSERT_TRUE((*worker)->Send(ReportOfStep(i)).ok());
      EXPECT_EQ((*worker)->Next()->run().first(), i);
    });
  }
  std::vector<std::unique_ptr<WorkerLink>> links;
  std::vector<std::unique_ptr<EventsForTest>> events;
  for (int i = 0; i < kWorkers; ++i) {
    links.push_back(coordinator.joined.Take());
    ASSERT_NE(links.back(), nullptr);
    events.push_back(std::make_unique<EventsForTest>());
    links.back()->Start(events.back()->Events());
    ASSERT_TRUE(
        links.back()->Send(RunCommand(links.back()->hello().rank())).ok());
  }
  for (int i = 0; i < kWorkers; ++i) {
    EXPECT_EQ(events[i]->reports.Take().step().step(),
              links[i]->hello().rank());
    EXPECT_THAT(MessageOf(events[i]->lost.Take()), EndsWith(" left"));
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace meshwright
