#include "meshwright/base/process_end.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <thread>

#include "gtest/gtest.h"
#include "meshwright/base/file.h"
#include "meshwright/base/standard_output.h"

namespace meshwright {
namespace {

using std::chrono::milliseconds;

class ProcessEndTest : public ::testing::Test {
 protected:
  ProcessEndTest() {
    folder_ = ::testing::TempDir() + "end_test." + std::to_string(::getpid());
    std::filesystem::create_directory(folder_);
  }
  ~ProcessEndTest() override { std::filesystem::remove_all(folder_); }

  // How a child ends that does `work`, which says when it may be signalled.
  int StatusOf(int signal, const std::function<void(int ready)>& work) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      EndOnSignals();
      work(ends[1]);
      _exit(0);
    }
    char byte = 0;
    EXPECT_EQ(::read(ends[0], &byte, 1), 1);
    if (signal != 0) ::kill(child, signal);
    int status = 0;
    ::waitpid(child, &status, 0);
    ::close(ends[0]);
    ::close(ends[1]);
    return status;
  }

  bool FolderIsEmpty() const { return std::filesystem::is_empty(folder_); }

  std::string folder_;
};

void Ready(int fd) { EXPECT_EQ(::write(fd, "1", 1), 1); }

TEST_F(ProcessEndTest, SignalsEndItAsShellsExpect) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const int status = StatusOf(signal, [&](int ready) {
      const TemporaryFile temporary(folder_ + "/x");
      Ready(ready);
      std::this_thread::sleep_for(std::chrono::seconds(60));
    });
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 128 + signal);
    EXPECT_TRUE(FolderIsEmpty());
  }
}

TEST_F(ProcessEndTest, WhatMustBeWholeIs) {
  const int status = StatusOf(SIGTERM, [&](int ready) {
    const Uninterrupted whole;
    Ready(ready);
    std::this_thread::sleep_for(milliseconds(300));
    const int fd =
        ::open((folder_ + "/whole").c_str(), O_CREAT | O_WRONLY, 0600);
    ::close(fd);
  });
  // The signal came first, or the end of the work did.
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/whole"));
}

TEST_F(ProcessEndTest, IgnoredSignalsStayIgnored) {
  std::signal(SIGHUP, SIG_IGN);
  const int status = StatusOf(SIGHUP, [&](int ready) {
    Ready(ready);
    std::this_thread::sleep_for(milliseconds(300));
  });
  std::signal(SIGHUP, SIG_DFL);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(ProcessEndTest, AClosedPipeEndsItQuietly) {
  const int status = StatusOf(0, [&](int ready) {
    int ends[2];
    if (::pipe(ends) != 0) _exit(1);
    ::close(ends[0]);
    ::dup2(ends[1], STDOUT_FILENO);
    OpenStandardOutput();
    const TemporaryFile temporary(folder_ + "/x");
    Ready(ready);
    std::puts("hello");
    (void)FlushStandardOutput();
  });
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGPIPE);
  EXPECT_TRUE(FolderIsEmpty());
}

TEST_F(ProcessEndTest, FullAndClosedOutputsAreFailures) {
  for (const bool closed : {false, true}) {
    const int status = StatusOf(0, [&](int ready) {
      if (closed) {
        ::close(STDOUT_FILENO);
      } else {
        ::dup2(::open("/dev/full", O_WRONLY), STDOUT_FILENO);
      }
      OpenStandardOutput();
      Ready(ready);
      std::puts("hello");
      const std::string message(FlushStandardOutput().message());
      _exit(message == (closed ? "standard output: Bad file descriptor"
                               : "standard output: No space left on device")
                ? 7
                : 8);
    });
    EXPECT_EQ(WEXITSTATUS(status), 7);
  }
}

}  // namespace
}  // namespace meshwright
