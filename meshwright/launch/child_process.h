// A child process that does not outlive this one.
//
//   MW_ASSIGN_OR_RETURN(const std::string program, ProgramPath());
//   MW_ASSIGN_OR_RETURN(
//       std::unique_ptr<ChildProcess> child,
//       ChildProcess::Start({.argv = {program, "worker", "--join", address},
//                            .name = "worker 2"}));
//   // Its output comes on stderr: "[worker 2] joined 127.0.0.1:7777"
//   child->Wait(absl::Seconds(1));          // Nothing: it still runs.
//   child->Terminate(absl::Seconds(5));     // "killed by signal 15 (SIGTERM)"
//
// It is killed when this process ends, even if that is killed (spawn.h), unless
// it ends with its stdin; its own children end with it. Thread-safe.
#ifndef MESHWRIGHT_LAUNCH_CHILD_PROCESS_H_
#define MESHWRIGHT_LAUNCH_CHILD_PROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "meshwright/launch/exit_status.h"
#include "meshwright/launch/line_relay.h"

namespace meshwright {

struct ChildOptions {
  std::vector<std::string> argv;  // argv[0] is a path, or is found on PATH.
  std::map<std::string, std::string> environment;  // Added to this process's.
  std::string name;                                // "worker 2"
  // Where its output (stdout and stderr together) goes: to `on_line`, called on
  // a thread, if set; appended to this file, if named; otherwise to stderr,
  // with the name before each line.
  std::function<void(absl::string_view line)> on_line = nullptr;
  std::string log_path = {};
  // If true, its stdin is a pipe that stays silent and is closed with this
  // object, for programs that end when their stdin does (ssh_command.h);
  // otherwise /dev/null.
  bool hold_stdin = false;
  // With hold_stdin: only its stdin tells it that this process has ended, and
  // it may complete what it does.
  bool ends_with_stdin = false;
};

class ChildProcess {
 public:
  // Errors name the program or the log if they cannot be run or opened.
  static absl::StatusOr<std::unique_ptr<ChildProcess>> Start(
      ChildOptions options);
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  // Terminates it within a second.
  ~ChildProcess();

  pid_t pid() const { return pid_; }
  const std::string& name() const { return name_; }

  // Its exit status, after all its output was relayed; nullopt if it is still
  // running after `timeout` (zero: poll; absl::InfiniteDuration(): wait).
  std::optional<ExitStatus> Wait(absl::Duration timeout);
  // Sends SIGTERM to it and its children, and SIGKILL after `grace`. Returns
  // how it ended.
  ExitStatus Terminate(absl::Duration grace);
  // Sends a signal to it and its children; no effect if it has ended.
  void Signal(int number);

  // The index of a child that has ended; nullopt if all are still running after
  // `timeout`.
  static std::optional<size_t> WaitForAny(
      absl::Span<const std::unique_ptr<ChildProcess>> children,
      absl::Duration timeout);
  // The index of the first child that failed; nullopt when all have ended
  // successfully.
  static std::optional<size_t> WaitForFailure(
      absl::Span<const std::unique_ptr<ChildProcess>> children);

 private:
  ChildProcess(pid_t pid, std::string name, int stdin_end);
  void Reap();

  const pid_t pid_;
  const std::string name_;
  const int stdin_end_;
  std::unique_ptr<LineRelay> relay_;  // Null with a log.
  std::mutex lock_;                   // Guards pid_ against being reused.
  std::optional<ExitStatus> status_;  // Guarded by lock_ and the lock of all.
  int64_t end_order_ = 0;             // The order in which children ended.
  std::thread waiter_;
};

// Sends SIGTERM to all, and SIGKILL to those still running after `grace`.
void TerminateAll(absl::Span<ChildProcess* const> children,
                  absl::Duration grace);

// The path of the running program.
absl::StatusOr<std::string> ProgramPath();

}  // namespace meshwright

#endif  // MESHWRIGHT_LAUNCH_CHILD_PROCESS_H_
