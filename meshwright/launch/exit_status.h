// How a process ended, in words.
//
//   ExitStatus::FromWait(status).ToString();
//       // "exit code 2", "exit code 134 (SIGABRT)", "killed by signal 11
//       (SIGSEGV)"
#ifndef MESHWRIGHT_LAUNCH_EXIT_STATUS_H_
#define MESHWRIGHT_LAUNCH_EXIT_STATUS_H_

#include <string>

namespace meshwright {

struct ExitStatus {
  int code = 0;    // The exit code, if the process ended by itself.
  int signal = 0;  // The signal that killed it, or 0.

  // From the status of waitpid.
  static ExitStatus FromWait(int status);

  bool ok() const { return code == 0 && signal == 0; }
  // The shell's convention: 128 + signal.
  int ShellCode() const { return signal != 0 ? 128 + signal : code; }
  std::string ToString() const;

  bool operator==(const ExitStatus&) const = default;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_LAUNCH_EXIT_STATUS_H_
