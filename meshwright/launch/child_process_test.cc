#include "meshwright/launch/child_process.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <mutex>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/base/file.h"
#include "meshwright/base/process_end.h"

namespace meshwright {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Lines from any thread.
class Lines {
 public:
  auto Sink() {
    return [this](absl::string_view line) {
      const std::lock_guard hold(lock_);
      lines_.emplace_back(line);
    };
  }
  std::vector<std::string> Get() {
    const std::lock_guard hold(lock_);
    return lines_;
  }
  // Of the n-th line, once it is there.
  int Number(size_t n) {
    for (int i = 0; i < 1000 && Get().size() <= n; ++i) {
      absl::SleepFor(absl::Milliseconds(10));
    }
    int number = 0;
    EXPECT_TRUE(absl::SimpleAtoi(Get().at(n), &number));
    return number;
  }

 private:
  std::mutex lock_;
  std::vector<std::string> lines_;
};

std::unique_ptr<ChildProcess> Shell(const std::string& script, Lines& lines,
                                    ChildOptions options = {}) {
  options.argv = {"sh", "-c", script};
  options.name = "worker 2";
  options.on_line = lines.Sink();
  auto child = ChildProcess::Start(std::move(options));
  EXPECT_TRUE(child.ok()) << child.status();
  return *std::move(child);
}

// Whether no such process is left, not even a zombie.
bool IsReaped(pid_t pid) { return ::kill(pid, 0) != 0 && errno == ESRCH; }

// Whether it ends within some seconds; whose zombie it is does not matter.
bool Ends(pid_t pid) {
  for (int i = 0; i < 500; ++i) {
    const auto stat = ReadFile(absl::StrCat("/proc/", pid, "/stat"));
    if (!stat.ok() || absl::StrContains(*stat, ") Z")) return true;
    absl::SleepFor(absl::Milliseconds(10));
  }
  return false;
}

std::string PidFile(pid_t parent) {
  return absl::StrCat(testing::TempDir(), "child_of.", parent);
}

TEST(ChildProcessTest, OutputComesLineByLine) {
  Lines lines;
  auto child =
      Shell("echo one; echo two >&2; printf 'a\\rb\\r\\nthree'", lines);
  EXPECT_EQ(child->Wait(absl::InfiniteDuration()), ExitStatus{});
  EXPECT_THAT(lines.Get(), ElementsAre("one", "two", "b", "three"));
}

TEST(ChildProcessTest, AllOutputIsThereWhenItHasEnded) {
  Lines lines;
  auto child = Shell(
      "i=0; while [ $i -lt 5000 ]; do echo line $i; "
      "i=$((i+1)); done",
      lines);
  child->Wait(absl::InfiniteDuration());
  EXPECT_EQ(lines.Get().size(), 5000);
  EXPECT_EQ(lines.Get().back(), "line 4999");
}

TEST(ChildProcessTest, HowItEnded) {
  const std::pair<const char*, const char*> kCases[] = {
      {"exit 0", "exit code 0"},
      {"exit 3", "exit code 3"},
      {"exit 134", "exit code 134 (SIGABRT)"},
      {"exit 200", "exit code 200"},
      {"kill -9 $$", "killed by signal 9 (SIGKILL, as the system does when memory is "
       "exhausted)"},
      {"kill -SEGV $$", "killed by signal 11 (SIGSEGV)"},
      {"kill -40 $$", "killed by signal 40"},
  };
  for (const auto& [script, want] : kCases) {
    Lines lines;
    const auto status = Shell(script, lines)->Wait(absl::InfiniteDuration());
    EXPECT_EQ(status->ToString(), want);
  }
  EXPECT_EQ((ExitStatus{.signal = 9}).ShellCode(), 137);
  EXPECT_EQ((ExitStatus{.code = 3}).ShellCode(), 3);
}

TEST(ChildProcessTest, WaitsNoLongerThanAsked) {
  Lines lines;
  auto child = Shell("sleep 60", lines);
  const absl::Time start = absl::Now();
  EXPECT_EQ(child->Wait(absl::Milliseconds(50)), std::nullopt);
  EXPECT_LT(absl::Now() - start, absl::Seconds(10));
  EXPECT_EQ(child->Terminate(absl::Seconds(10)).ToString(),
            "killed by signal 15 (SIGTERM)");
  EXPECT_EQ(child->Terminate(absl::Seconds(10)).signal, SIGTERM);
}

TEST(ChildProcessTest, WhoIgnoresTheWordIsKilled) {
  Lines lines;
  auto child =
      Shell("trap '' TERM; echo $$; while :; do sleep 0.1; done", lines);
  lines.Number(0);
  EXPECT_EQ(child->Terminate(absl::Milliseconds(200)).signal, SIGKILL);
}

TEST(ChildProcessTest, WhatItStartedEndsWithIt) {
  Lines lines;
  auto child = Shell("sleep 60 & echo $!; wait", lines);
  const int grandchild = lines.Number(0);
  const pid_t pid = child->pid();
  child.reset();
  EXPECT_TRUE(IsReaped(pid));
  EXPECT_TRUE(Ends(grandchild));
  // Also when it ends by itself.
  auto brief = Shell("sleep 60 & echo $!", lines);
  EXPECT_TRUE(brief->Wait(absl::InfiniteDuration())->ok());
  EXPECT_TRUE(Ends(lines.Number(1)));
}

TEST(ChildProcessTest, HasAGroupOfItsOwnAndNothingOfOurs) {
  // Left open for children, as libraries do.
  const int leaked = ::open("/dev/null", O_RDONLY);
  Lines lines;
  auto child = Shell(
      "cut -d' ' -f5 /proc/$$/stat; ls /proc/$$/fd | wc -l; "
      "echo $MW_A-$MW_B; read x || echo end",
      lines, {.environment = {{"MW_A", "1"}, {"MW_B", "x y"}}});
  EXPECT_TRUE(child->Wait(absl::InfiniteDuration())->ok());
  EXPECT_EQ(lines.Number(0), child->pid());
  EXPECT_LE(lines.Number(1), 4);
  EXPECT_EQ(lines.Get()[2], "1-x y");
  EXPECT_EQ(lines.Get()[3], "end");
  ::close(leaked);
}

TEST(ChildProcessTest, AHeldStdinEndsWithTheObject) {
  Lines lines;
  auto child = Shell("trap '' TERM; cat; echo end > $MW_FILE", lines,
                     {.environment = {{"MW_FILE", testing::TempDir() + "held"}},
                      .hold_stdin = true});
  EXPECT_EQ(child->Wait(absl::Milliseconds(100)), std::nullopt);
  child.reset();
  EXPECT_EQ(ReadFile(testing::TempDir() + "held").value(), "end\n");
}

TEST(ChildProcessTest, TheLogOfAWorker) {
  const std::string path =
      absl::StrCat(testing::TempDir(), "worker.", ::getpid(), ".log");
  for (int i = 0; i < 2; ++i) {
    auto child =
        ChildProcess::Start({.argv = {"sh", "-c", "echo one; echo two >&2"},
                             .name = "worker 2",
                             .log_path = path});
    ASSERT_TRUE(child.ok());
    EXPECT_TRUE((*child)->Wait(absl::InfiniteDuration())->ok());
  }
  EXPECT_EQ(ReadFile(path).value(), "one\ntwo\none\ntwo\n");
  std::filesystem::remove(path);
}

TEST(ChildProcessTest, LinesCarryTheName) {
  testing::internal::CaptureStderr();
  auto child =
      ChildProcess::Start({.argv = {"echo", "joined"}, .name = "worker 2"});
  ASSERT_TRUE(child.ok());
  (*child)->Wait(absl::InfiniteDuration());
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "[worker 2] joined\n");
}

TEST(ChildProcessTest, WhatCannotBeRunIsNamed) {
  const auto nowhere = ChildProcess::Start({.argv = {"/nowhere/meshwright"}});
  EXPECT_EQ(nowhere.status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(nowhere.status().message(),
            "cannot run /nowhere/meshwright: No such file or directory");
  EXPECT_THAT(
      std::string(ChildProcess::Start({.argv = {"/"}}).status().message()),
      HasSubstr("cannot run /: Permission denied"));
  const auto log =
      ChildProcess::Start({.argv = {"true"}, .log_path = "/nowhere/log"});
  EXPECT_THAT(std::string(log.status().message()), HasSubstr("/nowhere/log"));
}

TEST(ChildProcessTest, TheFirstOfSeveral) {
  Lines lines;
  std::vector<std::unique_ptr<ChildProcess>> children;
  for (const char* script : {"sleep 60", "read x", "exec sleep 60"}) {
    children.push_back(Shell(script, lines, {.hold_stdin = script[0] != 'r'}));
  }
  EXPECT_EQ(ChildProcess::WaitForAny(children, absl::Seconds(10)), 1);
  children.erase(children.begin() + 1);
  EXPECT_EQ(ChildProcess::WaitForAny(children, absl::Milliseconds(50)),
            std::nullopt);
  TerminateAll({children[0].get(), children[1].get()}, absl::Seconds(10));
  for (const auto& child : children) {
    EXPECT_EQ(child->Wait(absl::ZeroDuration())->signal, SIGTERM);
  }
}

// The threads that start children come and go; the process is what counts.
TEST(ChildProcessTest, OutlivesTheThreadThatStartedIt) {
  Lines lines;
  std::unique_ptr<ChildProcess> child;
  std::thread([&] { child = Shell("sleep 60", lines); }).join();
  EXPECT_EQ(child->Wait(absl::Milliseconds(200)), std::nullopt);
}

TEST(ChildProcessTest, EndsWithAParentThatIsKilled) {
  for (const int signal : {SIGKILL, SIGTERM}) {
    const pid_t parent = ::fork();
    if (parent == 0) {
      ::execl("/proc/self/exe", "launch_test",
              "--gtest_also_run_disabled_tests",
              "--gtest_filter=*DISABLED_AParent", nullptr);
      _exit(1);
    }
    const std::string path = PidFile(parent);
    int child = 0;
    for (int i = 0; i < 1000 && child == 0; ++i) {
      absl::SleepFor(absl::Milliseconds(10));
      const auto text = ReadFile(path);
      if (text.ok()) {
        EXPECT_TRUE(absl::SimpleAtoi(*text, &child));
      }
    }
    ASSERT_GT(child, 0);
    EXPECT_EQ(::kill(child, 0), 0);
    ::kill(parent, signal);
    ::waitpid(parent, nullptr, 0);
    EXPECT_TRUE(Ends(child));
    std::filesystem::remove(path);
  }
}

// What the test above runs.
TEST(ChildProcessTest, DISABLED_AParent) {
  EndOnSignals();
  Lines lines;
  auto child = Shell("trap '' TERM; while :; do sleep 0.1; done", lines);
  ASSERT_TRUE(
      WriteFileAtomically(PidFile(::getpid()), absl::StrCat(child->pid()))
          .ok());
  child->Wait(absl::Seconds(60));
}

TEST(ChildProcessTest, KnowsItsOwnFile) {
  EXPECT_EQ(std::filesystem::path(ProgramPath().value()).filename(),
            "launch_test");
}

}  // namespace
}  // namespace meshwright
