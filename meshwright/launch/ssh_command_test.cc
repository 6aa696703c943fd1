#include "meshwright/launch/ssh_command.h"

#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/base/file.h"
#include "meshwright/launch/child_process.h"
#include "meshwright/launch/worker_command.h"

namespace meshwright {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(WorkerCommandTest, SaysOnlyWhatIsKnown) {
  EXPECT_THAT(WorkerArguments({.join = "gpu02:7777"}),
              ElementsAre("worker", "--join", "gpu02:7777"));
  EXPECT_THAT(
      WorkerArguments(
          {.join = "gpu02:7777", .rank = 1, .devices = 8, .platform = "cpu"}),
      ElementsAre("worker", "--join", "gpu02:7777", "--rank", "1", "--devices",
                  "8", "--platform", "cpu"));
}

TEST(SshCommandTest, QuotesForTheShell) {
  EXPECT_EQ(ShellQuoted("--join=gpu02:7777"), "--join=gpu02:7777");
  EXPECT_EQ(ShellQuoted(""), "''");
  EXPECT_EQ(ShellQuoted("it's"), "'it'\\''s'");
  EXPECT_EQ(ShellQuoted("$(rm x) `y`;z\n"), "'$(rm x) `y`;z\n'");
}

TEST(SshCommandTest, TheHostCannotBeAnOption) {
  const std::vector<std::string> command = SshCommand(
      {.host = "gpu02", .argv = {"true"}, .ssh = {"ssh", "-p", "2222"}});
  EXPECT_EQ(absl::StrJoin(command.begin(), command.begin() + 3, " "),
            "ssh -p 2222");
  ASSERT_GE(command.size(), 3);
  EXPECT_EQ(command[command.size() - 3], "--");
  EXPECT_EQ(command[command.size() - 2], "gpu02");
  EXPECT_THAT(command, testing::Contains("BatchMode=yes"));
}

TEST(SshCommandTest, HostsOfAClusterWithoutTheirPorts) {
  Cluster cluster;
  cluster.hosts = {{.address = "10.0.0.1:7070"},
                   {.address = "gpu02"},
                   {.address = "[fd00::2]:7070"}};
  EXPECT_THAT(SshHosts(cluster).value(),
              ElementsAre("10.0.0.1", "gpu02", "fd00::2"));
  cluster.hosts[1].address = "-oProxyCommand=x";
  EXPECT_EQ(SshHosts(cluster).status().message(),
            "hosts[1]: '-oProxyCommand=x' names no host");
  cluster.hosts[1].address = "";
  EXPECT_EQ(SshHosts(cluster).status().message(),
            "hosts[1] has no \"address\", which ssh needs");
}

// With MESHWRIGHT_TEST_SSH, the ssh that this names, to this machine. Else one
// that runs the command here, in a shell as sshd does and in a session of its
// own: killing it ends the connection, no more.
class SshTest : public testing::Test {
 protected:
  SshTest() {
    folder_ = absl::StrCat(testing::TempDir(), "ssh_test.", ::getpid());
    std::filesystem::create_directory(folder_);
    const std::string path = folder_ + "/ssh";
    EXPECT_TRUE(WriteFileAtomically(path,
                                    "#!/bin/sh\nfor last; do :; done\n"
                                    "exec setsid --wait sh -c \"$last\"\n")
                    .ok());
    ::chmod(path.c_str(), 0755);
  }
  ~SshTest() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<ChildProcess> Start(SshOptions options) {
    options.host = "127.0.0.1";
    options.ssh = {folder_ + "/ssh"};
    if (const char* given = std::getenv("MESHWRIGHT_TEST_SSH")) {
      options.ssh = absl::StrSplit(given, ' ');
    }
    auto child = ChildProcess::Start({.argv = SshCommand(options),
                                      .name = "worker 0",
                                      .on_line =
                                          [this](absl::string_view line) {
                                            const std::lock_guard hold(lock_);
                                            lines_.emplace_back(line);
                                          },
                                      .hold_stdin = true});
    EXPECT_TRUE(child.ok()) << child.status();
    return *std::move(child);
  }
  std::vector<std::string> Lines() {
    const std::lock_guard hold(lock_);
    return lines_;
  }

  std::string folder_;

 private:
  std::mutex lock_;
  std::vector<std::string> lines_;
};

TEST_F(SshTest, WordsArriveAsTheyAre) {
  const std::string odd = "it's $HOME; \"x\" \\ * &";
  auto child = Start({.argv = {"sh", "-c", "echo \"$0|$1|$MW_A\"", odd, ""},
                      .environment = {{"MW_A", odd}}});
  EXPECT_TRUE(child->Wait(absl::Seconds(30))->ok());
  EXPECT_THAT(Lines(), ElementsAre(absl::StrCat(odd, "||", odd)));
}

TEST_F(SshTest, TheExitCodeComesBack) {
  auto child = Start({.argv = {"sh", "-c", "exit 3"}});
  EXPECT_EQ(child->Wait(absl::Seconds(30))->code, 3);
}

TEST_F(SshTest, AProgramThatIsNotThere) {
  auto child = Start({.argv = {"/nowhere/meshwright"}});
  EXPECT_EQ(child->Wait(absl::Seconds(30))->code, 127);
  EXPECT_THAT(absl::StrJoin(Lines(), " "), HasSubstr("/nowhere/meshwright"));
}

TEST_F(SshTest, TheProgramEndsWithTheConnection) {
  auto child = Start({.argv = {"sh", "-c",
                               "trap 'echo bye > $0; exit 0' TERM; echo $$; "
                               "while :; do sleep 0.05; done",
                               folder_ + "/bye"}});
  for (int i = 0; i < 1000 && Lines().empty(); ++i) {
    absl::SleepFor(absl::Milliseconds(10));
  }
  ASSERT_THAT(Lines(), testing::SizeIs(1));
  child->Signal(SIGKILL);
  child.reset();  // With the pipe that is its stdin.
  for (int i = 0; i < 1000; ++i) {
    if (std::filesystem::exists(folder_ + "/bye")) break;
    absl::SleepFor(absl::Milliseconds(10));
  }
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/bye"));
}

}  // namespace
}  // namespace meshwright
